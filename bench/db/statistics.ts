/**
 * Statistics of exact times.
 *
 * @module
 */

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
  const sorted = Float64Array.from(ns).sort();
  const at = (q: number) => (sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)] ?? NaN) / 1000;
  return {
    count: sorted.length,
    mean: sorted.reduce((sum, value) => sum + value, 0) / sorted.length / 1000,
    p50: at(0.5),
    p99: at(0.99),
    max: at(1),
  };
}
