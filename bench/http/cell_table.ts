/**
 * The table of a run on the terminal.
 *
 * @module
 */
import { fixed, ms, ratio } from "../support/table.ts";
import type { Cell } from "./summary.ts";

export const HEAD: readonly string[] = [
  "page",
  "clients",
  "arm",
  "req/s",
  "p50 ms",
  "p90 ms",
  "p99 ms",
  "max ms",
  "p99/ideal",
  "server us/req",
  "req/s ratio",
  "p50 ratio",
  "p99 ratio",
  "windows",
];

export function row(cell: Cell): string[] {
  return [
    cell.page,
    String(cell.clients),
    cell.arm,
    fixed(cell.throughput, 0),
    ms(cell.p50),
    ms(cell.p90),
    ms(cell.p99),
    ms(cell.max),
    fixed(cell.p99OverIdeal, 2),
    fixed(cell.serverCpuUs, 0),
    ratio(cell.throughputRatio),
    ratio(cell.p50Ratio),
    ratio(cell.p99Ratio),
    `${cell.good}/${cell.windows}`,
  ];
}
