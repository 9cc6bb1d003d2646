/**
 * Renders what `run.ts` measured as a section of Markdown, and draws the waits.
 *
 * `bun bench/fairness/report.ts run.json [--svg waits.svg] [--image assets/waits.svg] > section.md`
 *
 * @module
 */
import process from "node:process";
import { machineItem, versionNames } from "../support/machine.ts";
import { renderFile } from "../support/main.ts";
import { median } from "../support/statistics.ts";
import { waitsChart } from "./chart.ts";
import type { Report } from "./report_types.ts";
import { closedTables, gatesTable, openTable, percent } from "./tables.ts";

export function markdown(report: Report, image?: string): string {
  const parts = [facts(report)];
  if (report.samples.length > 0) {
    parts.push(report.arms.map((arm) => `- \`${arm.name}\`: ${arm.about}.`).join("\n"));
    if (image !== undefined) {
      parts.push(`![Share of requests that waited longer than so many laps of the line](${image})`);
    }
    for (const page of report.pages) parts.push(`### ${page.name}: ${page.about}`, ...closedTables(report, page.name));
    parts.push(
      "_Accounted_ is the share of the clients' time that their latencies add up to. _Ideal_ is a first-come-first-served queue run on the services measured in the same window. _C_ is their standard " +
        "deviation over their mean. _Early_ are waits under half a service, _passed_ requests that one sent over two services " +
        "later was started before, by the clocks of the clients and of PHP; _overtakes_ are the server's own count. A _lap_ " +
        "of the line is (N - c) / X.",
    );
  }
  if (report.open.length > 0) {
    const arms = report.openArms.map((arm) => `- \`${arm.name}\`: ${arm.about}.`).join("\n");
    parts.push("### Open arrivals", openTable(report), arms);
  }
  parts.push("### Gates", gatesTable(report));
  return `${parts.join("\n\n")}\n`;
}

function facts(report: Report): string {
  const good = report.samples.filter(({ faults }) => faults.length === 0);
  return [
    machineItem(report.machine),
    `- Versions: ${versionNames(report.machine).join(", ")}.`,
    ...(report.samples.length === 0 ? [] : [
      `- ${report.clients} clients in a closed loop, ${report.children} PHP processes; ${report.rounds} rounds, arms ` +
      `interleaved; medians of the ${good.length} of ${report.samples.length} windows that could be trusted. The load ` +
      `generator took ${
        percent(median(good.map(({ generator }) => generator)))
      } of a core; the clocks of clients and PHP agree ` +
      `within ${median(good.map(({ clockWithin }) => clockWithin)).toFixed(2)} ms.`,
    ]),
    `- Taken ${report.startedAt.slice(0, 10)}.`,
    ...report.verdict.broken.map((why) => `- **Not to be believed:** ${why}.`),
  ].join("\n");
}

function chart({ samples }: Report): string {
  return waitsChart(samples);
}

if (import.meta.main) process.exitCode = renderFile<Report>("bench/fairness/report.ts", { markdown, chart });
