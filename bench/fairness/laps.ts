/**
 * What a histogram of waits says about races for free slots.
 *
 * When a newcomer takes a freed slot with chance p, and the woken head that lost goes to the back, a wait is nothing with
 * chance p, or else a whole number of laps of the line, (N - c) / X each: P(W >= k laps) = (1-p) p^(k-1). The mean is that
 * of a fair queue (Little), so that only the tail tells, and the share of those that did not wait is p itself.
 *
 * @module
 */
import { rank } from "../support/statistics.ts";

export interface LapDiagnosis {
  /** One lap: (N - c) / X. */
  readonly lap: number;
  /** Share of waits under half a service: p. In a saturated fair queue nobody waits so little. */
  readonly early: number;
  /** Share of waits nearest to 0, 1, 2, 3, 4, and 5 or more laps. */
  readonly shares: readonly number[];
  /** P99 of the waits in laps, and what p says it must be. */
  readonly p99: number;
  readonly predictedP99: number;
}

/** The largest number of laps that more than 1 - q of the requests wait for. */
export function bargedLaps(p: number, q: number): number {
  if (p <= 0) return 1;
  if (p >= 1) return Infinity;
  let laps = 0;
  for (let tail = 1 - p; tail > 1 - q; tail *= p) laps++;
  return laps;
}

/** @param waits ascending */
export function diagnose(waits: ArrayLike<number>, lap: number, service: number): LapDiagnosis {
  const counts = [0, 0, 0, 0, 0, 0];
  let early = 0;
  for (let i = 0; i < waits.length; i++) {
    const wait = waits[i]!;
    if (wait < service / 2) early++;
    counts[Math.max(0, Math.min(5, Math.round(wait / lap)))]!++;
  }
  early /= waits.length;
  return {
    lap,
    early,
    shares: counts.map((n) => n / waits.length),
    p99: rank(waits, 0.99) / lap,
    predictedP99: bargedLaps(early, 0.99),
  };
}

export interface Start {
  readonly sent: number;
  readonly started: number;
}

/**
 * The share of requests that somebody passed who had asked more than `margin` later. The margin is for what happens on the
 * way to the queue: two requests sent within it may arrive in either order.
 */
export function passedOver(requests: readonly Start[], margin: number): number {
  // In the order of their starts, the latest sending seen so far tells whether anybody who came later went first.
  const starts = [...requests].sort((a, b) => a.started - b.started);
  let latest = -Infinity, passed = 0;
  for (const { sent } of starts) {
    if (latest > sent + margin) passed++;
    if (sent > latest) latest = sent;
  }
  return passed / requests.length;
}
