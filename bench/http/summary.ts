/**
 * From windows to the figures that are reported.
 *
 * @module
 */
import { ratios } from "../support/rounds.ts";
import { median, type Spread, spread } from "../support/statistics.ts";
import type { WindowResult } from "./window.ts";

export interface Sample extends WindowResult {
  readonly arm: string;
  readonly page: string;
  readonly clients: number;
  readonly round: number;
}

export interface Cell {
  readonly arm: string;
  readonly page: string;
  readonly clients: number;
  /** Windows that could be trusted, of all. */
  readonly good: number;
  readonly windows: number;
  readonly throughput: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
  readonly serverCpuUs: number;
  readonly phpCpuUs: number;
  /** p99 over `clients / throughput`, the sojourn of a perfectly fair queue; only where clients queue. */
  readonly p99OverIdeal?: number;
  /** Ratios to the control of the same round. */
  readonly throughputRatio?: Spread;
  readonly p50Ratio?: Spread;
  readonly p99Ratio?: Spread;
}

export function summarize(samples: readonly Sample[], control: string, children: number): Cell[] {
  const keyOf = (page: string, clients: number, arm: string) => JSON.stringify([page, clients, arm]);
  const keys = Map.groupBy(samples, ({ page, clients, arm }) => keyOf(page, clients, arm));
  const cells: Cell[] = [];
  for (const group of keys.values()) {
    const [first] = group;
    if (first === undefined) continue;
    const { arm, page, clients } = first;
    const good = group.filter((sample) => sample.faults.length === 0);
    const middle = (pick: (sample: Sample) => number) => median(good.map(pick));
    const against = (pick: (sample: Sample) => number): Spread | undefined => {
      if (arm === control) return undefined;
      return spread(ratios(group, keys.get(keyOf(page, clients, control)) ?? [], pick));
    };
    const compared = {
      p99OverIdeal: clients > children ? middle((s) => s.p99 * s.throughput / clients / 1000) : undefined,
      throughputRatio: against((s) => s.throughput),
      p50Ratio: against((s) => s.p50),
      p99Ratio: against((s) => s.p99),
    };
    cells.push({
      arm,
      page,
      clients,
      good: good.length,
      windows: group.length,
      throughput: middle((s) => s.throughput),
      p50: middle((s) => s.p50),
      p90: middle((s) => s.p90),
      p99: middle((s) => s.p99),
      max: middle((s) => s.max),
      serverCpuUs: middle((s) => s.serverCpuUs),
      phpCpuUs: middle((s) => s.phpCpuUs),
      ...Object.fromEntries(Object.entries(compared).filter(([, value]) => value !== undefined)),
    });
  }
  return cells;
}

/** Pages that not every arm sent alike. */
export function differentBodies(samples: readonly Sample[]): string[] {
  const bodies = new Map<string, Map<string, string>>();
  for (const { page, sha256, arm } of samples) {
    const seen = bodies.get(page) ?? new Map<string, string>();
    bodies.set(page, seen.set(sha256, arm));
  }
  return [...bodies].filter(([, seen]) => seen.size > 1)
    .map(([page, seen]) => `${page}: ${[...seen].map(([hash, arm]) => `${arm} ${hash.slice(0, 12)}`).join(", ")}`);
}
