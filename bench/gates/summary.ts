import { markdownTable } from "../support/table.ts";
import type { Cost } from "./stopwatch.ts";

/** One process's measurement; the cost is null where the arm cannot do it. */
export interface Sample {
  readonly runtime: string;
  readonly experiment: string;
  readonly depth: number;
  readonly arm: string;
  readonly round: number;
  readonly cost: Cost | null;
}

/** What the issue this benchmark belongs to asks of our gates, in ns of CPU time. */
export const AIMS: Readonly<Record<string, number>> = { uncontended: 50, "standing line": 250 };

/** The arms that are held to them. */
const held: readonly string[] = [
  "FairGate, callbacks",
  "ClassedGate, one class",
  "ClassedGate, four classes",
  "ClassedGate, 10,000 keys",
];

export interface Row {
  readonly runtime: string;
  readonly experiment: string;
  readonly depth: number;
  readonly arm: string;
  readonly rounds: number;
  readonly cpu: number;
  readonly least: number;
  readonly most: number;
  readonly wall: number;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
}

/** Medians over the rounds, in the order in which things were first measured. */
export function summarize(samples: readonly Sample[]): Row[] {
  const groups = Map.groupBy(
    samples,
    ({ runtime, experiment, depth, arm }) => JSON.stringify([experiment, depth, runtime, arm]),
  );
  return [...groups.values()].flatMap((group) => {
    const costs = group.flatMap(({ cost }) => cost ?? []);
    if (costs.length === 0) return [];
    const { runtime, experiment, depth, arm } = group[0]!;
    const cpus = costs.map(({ cpu }) => cpu);
    const [least, most] = [Math.min(...cpus), Math.max(...cpus)];
    return [{
      runtime,
      experiment,
      depth,
      arm,
      rounds: costs.length,
      cpu: median(cpus),
      least,
      most,
      wall: median(costs.map(({ wall }) => wall)),
    }];
  });
}

const ns = (value: number) => value < 10 ? value.toFixed(1) : Math.round(value).toLocaleString("en");

/** A section for each experiment: arms down, runtimes and depths across, `median (least-most)`. */
export function report(samples: readonly Sample[], what: (experiment: string) => string): string {
  const rows = summarize(samples);
  const unique = <T>(values: readonly T[]) => [...new Set(values)];
  return unique(rows.map(({ experiment }) => experiment)).map((experiment) => {
    const here = rows.filter((row) => row.experiment === experiment);
    const depths = unique(here.map(({ depth }) => depth)).toSorted((a, b) => a - b);
    const runtimes = unique(here.map(({ runtime }) => runtime)).toSorted();
    const columns = runtimes.flatMap((runtime) => depths.map((depth) => ({ runtime, depth })));
    const head = columns.map(({ runtime, depth }) =>
      depths.length > 1 ? `${runtime}, ${depth.toLocaleString("en")}` : runtime
    );
    const cells = unique(here.map(({ arm }) => arm)).map((arm) => [
      arm,
      ...columns.map(({ runtime, depth }) => {
        const row = here.find((one) => one.arm === arm && one.runtime === runtime && one.depth === depth);
        return row === undefined ? "" : `${ns(row.cpu)} (${ns(row.least)}-${ns(row.most)})`;
      }),
    ]);
    return `### ${experiment}: ${what(experiment)}\n\n${markdownTable(["ns of CPU time", ...head], cells)}`;
  }).join("\n\n");
}

/** A line for each aim and each place where it was measured. */
export function verdicts(samples: readonly Sample[]): string[] {
  return summarize(samples).flatMap(({ arm, experiment, runtime, depth, cpu }) => {
    const aim = AIMS[experiment];
    if (!held.includes(arm) || aim === undefined) return [];
    const verdict = cpu <= aim ? "met" : "MISSED";
    return [`${verdict}: ${arm}: ${experiment}, depth ${depth}, ${runtime}: ${ns(cpu)} ns, at most ${aim} wanted`];
  });
}
