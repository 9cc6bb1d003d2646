/**
 * Small statistics of exact figures.
 *
 * @module
 */
/** NaN of nothing. */
export function median(values: Iterable<number>): number {
  const ascending = sorted(values);
  const half = ascending.length >> 1;
  const upper = ascending[half] ?? NaN;
  return ascending.length % 2 === 1 ? upper : ((ascending[half - 1] ?? NaN) + upper) / 2;
}

/** A median with the extremes. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** Nothing of nothing. */
export function spread(values: readonly number[]): Spread | undefined {
  if (values.length === 0) return undefined;
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}

export const LEVELS: readonly [0.5, 0.9, 0.99, 0.999] = [0.5, 0.9, 0.99, 0.999];

export interface Quantiles {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
}

/** Nearest rank in ascending values: one that was really seen; NaN of nothing. */
export function rank(ascending: ArrayLike<number>, q: number): number {
  return ascending[Math.min(ascending.length, Math.max(1, Math.ceil(q * ascending.length - 1e-9))) - 1] ?? NaN;
}

export function sorted(values: Iterable<number>): Float64Array {
  return Float64Array.from(values).sort();
}

export function quantiles(ascending: ArrayLike<number>): Quantiles {
  const [p50, p90, p99, p999] = LEVELS.map((q) => rank(ascending, q)) as [number, number, number, number];
  return { p50, p90, p99, p999 };
}

export function mean(values: Iterable<number>): number {
  let sum = 0, count = 0;
  for (const value of values) {
    sum += value;
    count++;
  }
  return sum / count;
}

/** C: the standard deviation over the mean. 0 for constant times, 1 for exponential ones. */
export function variation(values: Iterable<number>): number {
  // Welford: the squares of large, nearly equal times would lose their difference.
  let count = 0, average = 0, squares = 0;
  for (const value of values) {
    const off = value - average;
    average += off / ++count;
    squares += off * (value - average);
  }
  return Math.sqrt(squares / count) / average;
}

/**
 * Jain's index of how alike shares are: (sum x)^2 / (n sum x^2), from 1/n when one has everything to 1 when all have the
 * same (Jain, Chiu and Hawe, DEC-TR-301, 1984).
 */
export function jain(shares: readonly number[]): number {
  const sum = shares.reduce((all, x) => all + x, 0);
  const squares = shares.reduce((all, x) => all + x * x, 0);
  return squares === 0 ? NaN : sum * sum / (shares.length * squares);
}
