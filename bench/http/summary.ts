/**
 * From windows to the figures that are reported.
 *
 * @module
 */
import type { WindowResult } from "./window.ts";

export interface Sample extends WindowResult {
  readonly arm: string;
  readonly page: string;
  readonly clients: number;
  readonly round: number;
}

/** Median of the ratios to the control of the same round, with the extremes. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
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
  readonly throughputRatio?: Spread;
  readonly p50Ratio?: Spread;
  readonly p99Ratio?: Spread;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  const upper = sorted[half] ?? NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? NaN) + upper) / 2;
}

function spread(ratios: readonly number[]): Spread | undefined {
  return ratios.length === 0
    ? undefined
    : { median: median(ratios), min: Math.min(...ratios), max: Math.max(...ratios) };
}

/**
 * The order of the arms in a round: turned by one place every second round, and every other round backwards, so that
 * a drift of the machine falls on all arms alike (two arms: A B, B A, B A, A B).
 */
export function order<T>(arms: readonly T[], round: number): T[] {
  const turn = (round >> 1) % Math.max(1, arms.length);
  const turned = [...arms.slice(turn), ...arms.slice(0, turn)];
  return round % 2 === 0 ? turned : turned.reverse();
}

export function summarize(samples: readonly Sample[], control: string, children: number): Cell[] {
  const keys = new Map<string, Sample[]>();
  for (const sample of samples) {
    const key = JSON.stringify([sample.page, sample.clients, sample.arm]);
    const list = keys.get(key);
    if (list === undefined) keys.set(key, [sample]);
    else list.push(sample);
  }
  const cells: Cell[] = [];
  for (const group of keys.values()) {
    const [first] = group;
    if (first === undefined) continue;
    const { arm, page, clients } = first;
    const good = group.filter((sample) => sample.faults.length === 0);
    const middle = (pick: (sample: Sample) => number) => median(good.map(pick));
    const against = (pick: (sample: Sample) => number): Spread | undefined => {
      if (arm === control) return undefined;
      const rivals = keys.get(JSON.stringify([page, clients, control])) ?? [];
      return spread(good.flatMap((sample) => {
        const rival = rivals.find((other) => other.round === sample.round && other.faults.length === 0);
        return rival === undefined ? [] : [pick(sample) / pick(rival)];
      }));
    };
    const ratios = {
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
      ...Object.fromEntries(Object.entries(ratios).filter(([, value]) => value !== undefined)),
    });
  }
  return cells;
}
