/**
 * Renders what `run.ts` measured as a section of Markdown, and draws the waits.
 *
 * `bun bench/fairness/report.ts run.json [--svg waits.svg] [--image assets/waits.svg] > section.md`
 *
 * @module
 */
import { readFileSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { median } from "../http/summary.ts";
import { fixed, markdownTable, ms } from "../http/table.ts";
import { waitsChart } from "./chart.ts";
import { digits, expectation } from "./gates.ts";
import type { OpenSample } from "./open_mix.ts";
import type { Quantiles } from "./quantiles.ts";
import type { Report } from "./report_types.ts";
import { trusted } from "./verdict.ts";
import type { Sample } from "./window.ts";

const percent = (share: number) => `${fixed(share * 100, share > 0 && share < 0.01 ? 2 : 1)} %`;

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
  const { machine } = report;
  const versions = Object.entries(machine.versions).filter(([, text]) => text !== "not found")
    .map(([name, text]) => `${name} ${/\d+(\.\d+)+/.exec(text)?.[0] ?? text}`);
  const good = report.samples.filter(({ faults }) => faults.length === 0);
  return [
    `- Machine: ${machine.cpu}, ${machine.cores} cores, ${machine.memoryGiB} GiB, ${machine.system}, Linux ${machine.kernel}.`,
    `- Versions: ${versions.join(", ")}.`,
    ...(report.samples.length === 0 ? [] : [
      `- ${report.clients} clients in a closed loop, ${report.children} PHP processes; ${report.rounds} rounds, arms ` +
      `interleaved; medians of the ${good.length} of ${report.samples.length} windows that could be trusted. The load ` +
      `generator took ${percent(median(good.map(({ generator }) => generator)))} of a core.`,
    ]),
    `- Taken ${report.startedAt.slice(0, 10)}.`,
    ...report.verdict.broken.map((why) => `- **Not to be believed:** ${why}.`),
  ].join("\n");
}

function closedTables(report: Report, page: string): string[] {
  const rows = report.arms.map(({ name }) => ({ name, good: trusted(report.samples, page, name) }))
    .filter(({ good }) => good.length > 0);
  const middle = (of: readonly Sample[], pick: (sample: Sample) => number) => median(of.map(pick));
  const tail = (of: readonly Sample[], key: keyof Quantiles) =>
    `${ms(middle(of, (s) => s.measured[key]))} / ${ms(middle(of, (s) => s.ideal[key]))} = ` +
    fixed(middle(of, (s) => s.measured[key] / s.ideal[key]), 3);
  const figures = markdownTable(
    [
      "server",
      "req/s",
      "mean/(N/X)",
      "accounted",
      "service ms",
      "C",
      "P50 / ideal ms",
      "P90 / ideal",
      "P99 / ideal",
      "P99.9 / ideal",
    ],
    rows.map(({ name, good }) => [
      name,
      fixed(middle(good, (s) => s.throughput), 0),
      fixed(middle(good, (s) => s.mean), 3),
      fixed(middle(good, (s) => s.accounted), 4),
      ms(middle(good, (s) => s.service)),
      fixed(middle(good, (s) => s.variation), 2),
      ...(["p50", "p90", "p99", "p999"] as const).map((key) => tail(good, key)),
    ]),
  );
  const order = markdownTable(
    [
      "server",
      "early",
      "passed",
      "overtakes",
      "Jain",
      "oldest ms",
      "P99 in laps",
      "as races predict",
      "waits of 0, 1, 2, ... laps",
    ],
    rows.map(({ name, good }) => [
      name,
      percent(middle(good, (s) => s.laps.early)),
      percent(middle(good, (s) => s.passed)),
      good.every((s) => s.overtakes === undefined) ? "-" : fixed(middle(good, (s) => s.overtakes ?? 0), 0),
      fixed(middle(good, (s) => s.jain), 4),
      ms(middle(good, (s) => s.oldest)),
      fixed(middle(good, (s) => s.laps.p99), 2),
      fixed(middle(good, (s) => s.laps.predictedP99), 0),
      [0, 1, 2, 3, 4, 5].map((lap) => percent(middle(good, (s) => s.laps.shares[lap] ?? 0))).join(", "),
    ]),
  );
  return [figures, order];
}

function openTable(report: Report): string {
  const { children, deadline, grace } = report.openTerms;
  const cells = new Map<string, OpenSample[]>();
  for (const sample of report.open) {
    const key = `${sample.share} ${sample.arm}`;
    cells.set(key, [...cells.get(key) ?? [], sample]);
  }
  const rows = [...cells.values()].map((of) => {
    // JSON has no NaN: what nobody measured comes back as null.
    const middle = (pick: (sample: OpenSample) => number) => median(of.map(pick).map((value) => value ?? NaN));
    return [
      String(of[0]!.share),
      of[0]!.arm,
      fixed(middle((s) => s.rate), 0),
      fixed(middle((s) => s.goodput), 1),
      percent(middle((s) => s.useful)),
      percent(middle((s) => s.refused / s.sent)),
      ms(middle((s) => s.refusalP99)),
      percent(middle((s) => s.left / s.sent)),
      String(of.reduce((sum, s) => sum + s.failed, 0)),
      ms(middle((s) => s.fastP99)),
      fixed(middle((s) => s.fastP99 / s.unloadedFastP99), 1),
      ms(middle((s) => s.slowP99)),
      String(of.reduce((sum, s) => sum + s.wasted, 0)),
      ms(middle((s) => s.lateP99)),
    ];
  });
  const head = [
    "load",
    "server",
    "sent/s",
    "good/s",
    "useful",
    "refused",
    "refusal P99 ms",
    "left",
    "failed",
    "fast P99 ms",
    "/ unloaded",
    "slow P99 ms",
    "wasted",
    "sent late P99 ms",
  ];
  return `95 of 100 requests sleep 5 ms and 5 sleep 500 ms, ${children} PHP processes; clients leave after ${deadline} ms, ` +
    `Fairlead lets none wait longer than ${grace} ms. _Useful_ is the share of the PHP processes' time that answers in time ` +
    `took; _wasted_ are executions begun for clients that had left.\n\n${markdownTable(head, rows)}`;
}

function gatesTable({ verdict: { gates } }: Report): string {
  const rows = gates.map((one) => [
    one.of,
    one.name,
    one.value === null ? "-" : digits(one.value),
    expectation(one),
    one.holds ? "holds" : "**missed**",
  ]);
  return markdownTable(["page", "gate", "value", "expected", ""], rows);
}

function main(): number {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { svg: { type: "string" }, image: { type: "string" } },
  });
  const [file] = positionals;
  if (file === undefined) {
    process.stderr.write("usage: bun bench/fairness/report.ts RUN.json [--svg WAITS.svg] [--image PATH-IN-MARKDOWN]\n");
    return 2;
  }
  const report = JSON.parse(readFileSync(file, "utf8")) as Report;
  if (values.svg !== undefined) writeFileSync(values.svg, waitsChart(report.samples));
  const image = values.image ?? (values.svg === undefined ? undefined : basename(values.svg));
  process.stdout.write(markdown(report, image));
  return 0;
}

if (import.meta.main) process.exitCode = main();
