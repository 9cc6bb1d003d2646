/**
 * The tables of the report.
 *
 * @module
 */
import { median } from "../support/statistics.ts";
import { fixed, markdownTable, ms } from "../support/table.ts";
import { digits, expectation } from "./gates.ts";
import type { OpenSample } from "./open_figures.ts";
import type { Quantiles } from "../support/statistics.ts";
import type { Report } from "./report_types.ts";
import { trusted } from "./verdict.ts";
import type { Sample } from "./window.ts";

export function percent(share: number): string {
  return `${fixed(share * 100, share > 0 && share < 0.01 ? 2 : 1)} %`;
}

export function closedTables(report: Report, page: string): string[] {
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

export function openTable(report: Report): string {
  const { children, deadline, grace } = report.openTerms;
  const cells = Map.groupBy(report.open, ({ share, arm }) => `${share} ${arm}`);
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
      percent(middle((s) => s.quick)),
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
    "within 10 ms",
    "left",
    "failed",
    "fast P99 ms",
    "/ unloaded",
    "slow P99 ms",
    "wasted",
    "sent late P99 ms",
  ];
  return `95 of 100 requests sleep 5 ms and 5 sleep 500 ms, ${children} PHP processes; clients leave after ${deadline} ms, ` +
    `Fairlead lets none wait longer than ${grace} ms. _Refusal P99_ is of those after the first tenth of the window, the onset. _Useful_ is the share of the PHP processes' time that answers in time ` +
    `took; _wasted_ are executions begun for clients that had left.\n\n${markdownTable(head, rows)}`;
}

export function gatesTable({ verdict: { gates } }: Report): string {
  const rows = gates.map((one) => [
    one.of,
    one.name,
    one.value === null ? "-" : digits(one.value),
    expectation(one),
    one.holds ? "holds" : "**missed**",
  ]);
  return markdownTable(["page", "gate", "value", "expected", ""], rows);
}
