/**
 * Renders what `run.ts` measured as a section of Markdown, and a chart.
 *
 * `bun bench/http/report.ts run.json [--svg chart.svg] [--image assets/chart.svg] > section.md`
 *
 * @module
 */
import process from "node:process";
import { machineItem, versionNames } from "../support/machine.ts";
import { renderFile } from "../support/main.ts";
import { fixed, markdownTable, ms, ratio } from "../support/table.ts";
import { ratioChart } from "./chart.ts";
import type { Report } from "./report_types.ts";
import { type Cell, summarize } from "./summary.ts";

function facts(report: Report): string {
  return [
    machineItem(report.machine),
    `- Versions: ${versionNames(report.machine).join(", ")}.`,
    `- ${report.children} PHP children behind every server, the same php-fpm binary and php.ini (opcache on, JIT off).`,
    `- ${report.rounds} rounds of ${report.seconds} s windows (longer where twenty turns of the queue take longer), arms interleaved; ` +
    `medians of the windows that could be trusted. Taken ${report.startedAt.slice(0, 10)}.`,
  ].join("\n");
}

/** Summed up afresh: JSON has no NaN, which is what a cell without a trusted window holds. */
function cellsOf(report: Report): Cell[] {
  return summarize(report.samples, report.control, report.children);
}

export function markdown(report: Report, image?: string): string {
  const parts: string[] = [facts(report)];
  parts.push(report.arms.map((arm) => `- \`${arm.name}\`: ${arm.about}.`).join("\n"));
  if (image !== undefined) parts.push(`![Throughput of every arm over that of ${report.control}](${image})`);
  const others = report.arms.filter((arm) => arm.name !== report.control);
  for (const page of report.pages) {
    const cells = cellsOf(report).filter((cell) => cell.page === page.name);
    const compared = others.length > 0 ? ["req/s ratio", "p50 ratio", "p99 ratio"] : [];
    const head = [
      "clients",
      "server",
      "req/s",
      "p50 ms",
      "p90 ms",
      "p99 ms",
      "p99 / ideal",
      "server CPU µs",
      ...compared,
    ];
    const rows = cells.map((cell) => [
      String(cell.clients),
      cell.arm,
      fixed(cell.throughput, 0),
      ms(cell.p50),
      ms(cell.p90),
      ms(cell.p99),
      fixed(cell.p99OverIdeal, 2),
      fixed(cell.serverCpuUs, 0),
      ...(compared.length > 0
        ? [ratio(cell.throughputRatio), ratio(cell.p50Ratio), ratio(cell.p99Ratio)].map((text) =>
          text || (cell.arm === report.control ? "1" : "-")
        )
        : []),
    ]);
    parts.push(`### ${page.name}: ${page.about}`, markdownTable(head, rows));
  }
  parts.push(
    `Ratios are to \`${report.control}\` in the same round: the median, and the lowest and the highest round in brackets. ` +
      "Ideal is clients / throughput, the time every request takes in a perfectly fair queue. Server CPU is what the " +
      "server itself used for a request, without PHP.",
  );
  const notes = notesOn(report);
  if (notes.length > 0) parts.push(notes.map((note) => `- ${note}`).join("\n"));
  return `${parts.join("\n\n")}\n`;
}

/** What a reader must know before believing the tables. */
function notesOn(report: Report): string[] {
  const windows = report.samples.length;
  const bad = report.samples.filter((sample) => sample.faults.length > 0);
  const notes = report.bodyDifferences.map((text) => `The servers did not send the same page: ${text}.`);
  if (bad.length > 0) notes.push(`${bad.length} of ${windows} windows could not be trusted and are left out.`);
  for (const arm of report.arms) {
    if (arm.phpDifferences.length > 0) {
      notes.push(
        `PHP settings of \`${arm.name}\` that differ: ${arm.phpDifferences.map((d) => `\`${d}\``).join(", ")}.`,
      );
    }
  }
  return notes;
}

function chart(report: Report): string {
  return ratioChart(cellsOf(report), report.control);
}

if (import.meta.main) process.exitCode = renderFile<Report>("bench/http/report.ts", { markdown, chart });
