/**
 * Times of pieces of work.
 *
 * @module
 */
import { mean, rank, sorted } from "../support/statistics.ts";

/** All in microseconds. */
export interface Times {
  readonly count: number;
  readonly mean: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** Of times in ns. Percentiles are nearest-rank: a time that some piece of work really took. */
export function times(ns: readonly number[]): Times {
  const ascending = sorted(ns);
  const at = (q: number) => rank(ascending, q) / 1000;
  return {
    count: ascending.length,
    mean: mean(ascending) / 1000,
    p50: at(0.5),
    p99: at(0.99),
    max: at(1),
  };
}
