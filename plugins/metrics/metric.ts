/**
 * What a scrape sees: metrics with their points, whatever keeps the numbers.
 *
 * @module
 */
export type MetricType = "counter" | "gauge" | "histogram";

/** What a metric is, without its numbers. */
export interface Description {
  readonly name: string;
  readonly type: MetricType;
  readonly help: string;
  readonly labels: readonly string[];
}

/** Observations sorted into buckets. `counts` is not cumulative and has one more entry than `bounds`: above the last. */
export interface Distribution {
  readonly bounds: ArrayLike<number>;
  readonly counts: ArrayLike<number>;
  readonly sum: number;
}

/** One child of a metric at the moment of the scrape. */
export interface Point<V = number | Distribution> {
  /** Label pairs as they are printed between the braces, escaped; empty when there are none. */
  readonly labels: string;
  readonly value: V;
}

export interface Snapshot extends Description {
  readonly points: readonly Point[];
}

/** The label value that stands for everything past a metric's bound. */
export const OTHER = "_other";
