/**
 * Renders what `run.ts` measured as Markdown: `bun bench/php/report.ts run.json > section.md`.
 *
 * @module
 */
import process from "node:process";
import { type Cell, summarize } from "../http/summary.ts";
import { machineItem, versionNames } from "../support/machine.ts";
import { renderFile } from "../support/main.ts";
import { median } from "../support/statistics.ts";
import { fixed, markdownTable, ms, ratio } from "../support/table.ts";
import type { OpenSample, Report } from "./report_types.ts";

export function markdown(report: Report): string {
  const parts = [
    [
      machineItem(report.machine),
      `- Versions: ${versionNames(report.machine).join(", ")}.`,
      `- ${report.children} PHP processes behind every server, one php.ini (opcache on, JIT off); ${report.rounds} rounds of ` +
      `${report.seconds} s windows, arms interleaved; medians. Taken ${report.startedAt.slice(0, 10)}.`,
    ].join("\n"),
    report.arms.map(({ name, about }) => `- \`${name}\`: ${about}.`).join("\n"),
  ];
  const cells = summarize(report.samples, report.control, report.children);
  for (const page of report.pages) {
    parts.push(`### ${page.name}: ${page.about}`);
    const loops = report.ceilings.filter((one) => one.page === page.name).map((one) => one.throughput);
    const most = loops.length === 0 ? undefined : median(loops);
    if (most !== undefined) {
      parts.push(`The same code in a loop inside PHP, ${report.children} processes: ${most.toFixed(0)}/s.`);
    }
    parts.push(closedTable(cells.filter((cell) => cell.page === page.name), report.control, most));
    const open = report.open.filter((one) => one.page === page.name);
    if (open.length > 0) parts.push(openTable(open));
  }
  parts.push(
    `Ratios are to \`${report.control}\` in the same round: the median, and the lowest and the highest round in brackets. Ideal, with ` +
      "a closed loop, is clients / throughput; with open arrivals it is the p99 of a perfect queue that got the very same arrivals, " +
      "before as many workers of the same speed.",
    `Open arrivals: exponential gaps, at the given multiple of what the same server answers to 32 clients of this generator. A client ` +
      `leaves after ${report.deadline} ms; Fairlead lets a request wait ${report.grace} ms. Good are 2xx before the client leaves.`,
  );
  const bad = report.samples.filter(({ faults }) => faults.length > 0).length;
  if (bad > 0) parts.push(`${bad} of ${report.samples.length} windows could not be trusted and are left out.`);
  for (const difference of report.bodyDifferences) parts.push(`The servers did not send the same page: ${difference}.`);
  return `${parts.join("\n\n")}\n`;
}

function closedTable(cells: readonly Cell[], control: string, most: number | undefined): string {
  const head = [
    "clients",
    "server",
    "req/s",
    "p50 ms",
    "p99 ms",
    "p99 / ideal",
    "server CPU µs",
    "req/s ratio",
    "of the loop",
  ];
  return markdownTable(
    head,
    cells.map((cell) => [
      String(cell.clients),
      cell.arm,
      fixed(cell.throughput, 0),
      ms(cell.p50),
      ms(cell.p99),
      fixed(cell.p99OverIdeal, 2),
      fixed(cell.serverCpuUs, 0),
      ratio(cell.throughputRatio) || (cell.arm === control ? "1" : "-"),
      most === undefined ? "-" : fixed(cell.throughput / most, 2),
    ]),
  );
}

function openTable(samples: readonly OpenSample[]): string {
  const keys = [...new Set(samples.map(({ share, arm }) => JSON.stringify([share, arm])))];
  const rows = keys.map((key) => {
    const group = samples.filter(({ share, arm }) => JSON.stringify([share, arm]) === key);
    const middle = (of: (one: OpenSample) => number) => median(group.map(of));
    const { share, arm } = group[0]!;
    return [
      String(share),
      arm,
      fixed(middle((one) => one.rate), 0),
      fixed(middle((one) => one.goodput), 0),
      fixed(middle((one) => one.goodput / Math.min(one.rate, one.capacity)), 2),
      ms(middle((one) => one.p50)),
      ms(middle((one) => one.p99)),
      fixed(middle((one) => one.p99 / one.idealP99), 2),
      fixed(middle((one) => one.refused / one.arrivals * 100), 1),
      fixed(middle((one) => (one.left + one.failed) / one.arrivals * 100), 1),
      ms(middle((one) => one.lateP99)),
    ];
  });
  const head = [
    "of capacity",
    "server",
    "arrivals/s",
    "good/s",
    "of what was possible",
    "p50 ms",
    "p99 ms",
    "p99 / ideal",
    "refused %",
    "lost %",
    "generator late ms",
  ];
  return markdownTable(head, rows);
}

if (import.meta.main) process.exitCode = renderFile<Report>("bench/php/report.ts", { markdown });
