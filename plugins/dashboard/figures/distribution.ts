import type { Metrics, Where } from "./metrics.ts";

/** What a histogram has counted: observations at or below each bound, the last of which is infinite. */
export interface Distribution {
  readonly bounds: readonly number[];
  readonly cumulative: readonly number[];
}

/** A quantile found in buckets. */
export interface Quantile {
  /** The best guess; the lower bound where there is no upper one. */
  readonly value: number;
  /** The true one is above `lower` (or 0 with it) and at most `upper`, which may be infinite. */
  readonly lower: number;
  readonly upper: number;
}

/** Sums up the children of a histogram that are meant; undefined when there is none. */
export function distributionOf(metrics: Metrics, name: string, where: Where = {}): Distribution | undefined {
  const totals = new Map<number, number>();
  for (const { labels, value } of metrics.samples(`${name}_bucket`, where)) {
    const bound = Number((labels.get("le") ?? "").replace("Inf", "Infinity"));
    if (Number.isNaN(bound) || labels.get("le") === "") continue;
    totals.set(bound, (totals.get(bound) ?? 0) + value);
  }
  if (!totals.has(Infinity)) return undefined;
  const sorted = [...totals].sort(([a], [b]) => a - b);
  return { bounds: sorted.map(([bound]) => bound), cumulative: sorted.map(([, total]) => total) };
}

/**
 * What came between two looks at one histogram of one process; a histogram that was not there before began at 0. Undefined when
 * a bucket has fallen or the bounds are others: then it is not the same histogram.
 */
export function growth(before: Distribution | undefined, after: Distribution): Distribution | undefined {
  if (before === undefined) return after;
  const { bounds, cumulative } = after;
  if (bounds.length !== before.bounds.length || bounds.some((bound, i) => bound !== before.bounds[i])) return undefined;
  const grown = cumulative.map((total, i) => total - before.cumulative[i]!);
  // A scrape is one moment, so that a fall in any bucket, whatever its neighbours say, is another beginning.
  const rising = grown.every((count, i) => count >= (i === 0 ? 0 : grown[i - 1]!));
  return rising ? { bounds, cumulative: grown } : undefined;
}

/** How many observations there are. */
export function countOf({ cumulative }: Distribution): number {
  return cumulative.at(-1) ?? 0;
}

/**
 * The quantile `q` (0 to 1) as Prometheus' `histogram_quantile` finds it: the bucket that holds it is known, and within the
 * bucket the observations are taken to lie evenly. With bounds that double it is off by less than a factor of two.
 * Undefined when nothing was observed.
 */
export function quantile(distribution: Distribution, q: number): Quantile | undefined {
  const { bounds, cumulative } = distribution;
  const count = countOf(distribution);
  if (!(count > 0)) return undefined;
  const rank = q * count;
  const i = cumulative.findIndex((total) => total > 0 && total >= rank);
  const upper = bounds[i]!;
  const lower = i === 0 ? Math.min(0, upper) : bounds[i - 1]!;
  if (upper === Infinity) return { value: lower, lower, upper };
  const below = i === 0 ? 0 : cumulative[i - 1]!;
  const part = Math.max(0, rank - below) / (cumulative[i]! - below);
  return { value: lower + (upper - lower) * part, lower, upper };
}
