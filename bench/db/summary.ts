/**
 * From windows to the figures that are reported.
 *
 * @module
 */
import { ratios } from "../support/rounds.ts";
import { median, type Spread, spread } from "../support/statistics.ts";
import { type Counter, COUNTERS } from "./counters.ts";
import type { ExperimentName } from "./experiments.ts";
import type { WindowResult } from "./window.ts";

export type ServerKind = "mariadb" | "mysql";

export interface Sample extends WindowResult {
  readonly server: ServerKind;
  readonly experiment: ExperimentName;
  readonly work: string;
  readonly door: string;
  readonly round: number;
}

export interface Cell {
  readonly server: ServerKind;
  readonly experiment: ExperimentName;
  readonly work: string;
  readonly door: string;
  /** Windows that could be trusted, of all. */
  readonly good: number;
  readonly windows: number;
  /** Medians of the good windows, in microseconds. */
  readonly mean: number;
  readonly p50: number;
  readonly p99: number;
  readonly perSecond: number;
  readonly proxyCpuUs: number;
  readonly databaseCpuUs: number;
  readonly clientCpuUs: number;
  /** The most that the database counted in one window, trusted or not: what it was asked does not depend on load. */
  readonly counters: Readonly<Record<Counter, number>>;
  /** Pieces of work in a window. */
  readonly count: number;
  readonly meanRatio?: Spread;
  readonly p50Ratio?: Spread;
  readonly p99Ratio?: Spread;
  readonly perSecondRatio?: Spread;
}

const key = (sample: Pick<Sample, "server" | "experiment" | "work" | "door">, door = sample.door) =>
  JSON.stringify([sample.server, sample.experiment, sample.work, door]);

/** One cell for each server, work and door, in the order in which they were first measured. */
export function summarize(samples: readonly Sample[], control = "direct tcp"): Cell[] {
  const groups = Map.groupBy(samples, (sample) => key(sample));
  return [...groups.values()].map((group) => {
    const { server, experiment, work, door } = group[0]!;
    const good = group.filter((sample) => sample.faults.length === 0);
    const middle = (pick: (sample: Sample) => number) => median(good.map(pick));
    const rivals = groups.get(key(group[0]!, control)) ?? [];
    const against = (pick: (sample: Sample) => number) =>
      door === control ? undefined : spread(ratios(group, rivals, pick));
    const spreads = {
      meanRatio: against((s) => s.mean),
      p50Ratio: against((s) => s.p50),
      p99Ratio: against((s) => s.p99),
      perSecondRatio: against((s) => s.perSecond),
    };
    return {
      server,
      experiment,
      work,
      door,
      good: good.length,
      windows: group.length,
      mean: middle((s) => s.mean),
      p50: middle((s) => s.p50),
      p99: middle((s) => s.p99),
      perSecond: middle((s) => s.perSecond),
      proxyCpuUs: middle((s) => s.proxyCpuUs),
      databaseCpuUs: middle((s) => s.databaseCpuUs),
      clientCpuUs: middle((s) => s.clientCpuUs),
      counters: Object.fromEntries(
        COUNTERS.map((name) => [name, Math.max(...group.map((s) => s.counters[name]))]),
      ) as Record<Counter, number>,
      count: median(group.map((s) => s.count)),
      ...Object.fromEntries(Object.entries(spreads).filter(([, value]) => value !== undefined)),
    };
  });
}
