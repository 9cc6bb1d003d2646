/**
 * The chart of a run.
 *
 * @module
 */
import { barChart } from "../support/bar_chart.ts";
import type { Cell } from "./summary.ts";

/** The throughput of every arm over the control's, cell by cell. */
export function ratioChart(cells: readonly Cell[], control: string): string {
  const bars = cells.flatMap(({ arm, page, clients, throughputRatio: ratio }) => {
    return ratio === undefined ? [] : [{ group: `${page}, c=${clients}`, arm, ratio }];
  });
  const title = `Requests a second, as a ratio to ${control}: median of the rounds, the line spans them all`;
  return barChart(bars, { control, title });
}
