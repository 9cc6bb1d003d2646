import { type Token, token } from "../plugin.ts";

/** A number that only grows. */
export interface Counter {
  inc(by?: number): void;
}

/** A distribution; `observe` is for hot paths: it touches plain numbers only. */
export interface Histogram {
  observe(value: number): void;
}

/** One metric with labels: resolve each child once, keep it, and use it without further cost. */
export interface Family<T> {
  /** The child for these label values, in the order the labels were declared. Bounded: past 500 children all share one. */
  with(...values: readonly string[]): T;
}

/** A gauge sample: label values in declared order, and the number. */
export type Sample = readonly [values: readonly string[], value: number];

/**
 * What a plugin may ask of whoever keeps the numbers. Names follow Prometheus (`fairlead_php_busy`, `_total`, `_seconds`).
 *
 * @example
 * ```ts
 * const meter = ctx.find(Meter) ?? noMeter; // with wants: [Meter]
 * const made = meter.counters("fairlead_thumbnails_total", "Thumbnails made, by size.", ["size"]);
 * const small = made.with("small"); // once, outside the hot path
 * small.inc();
 * ```
 */
export interface Meter {
  counter(name: string, help: string): Counter;
  counters(name: string, help: string, labels: readonly string[]): Family<Counter>;
  /** Read when scraped: a gauge is a count of live things, never +1/-1 by hand. */
  gauge(name: string, help: string, read: () => number): void;
  gauges(name: string, help: string, labels: readonly string[], read: () => Iterable<Sample>): void;
  /** `bounds` ascending, in the metric's unit; +Inf is added. */
  histogram(name: string, help: string, bounds: readonly number[]): Histogram;
  histograms(name: string, help: string, bounds: readonly number[], labels: readonly string[]): Family<Histogram>;
}

/** The service of the metrics plugin. */
export const Meter: Token<Meter> = token("meter@1");

const nothing: Counter & Histogram = { inc() {}, observe() {} };

/** A meter that keeps nothing: what a plugin falls back to when no metrics plugin is loaded. */
export const noMeter: Meter = {
  counter: () => nothing,
  counters: () => ({ with: () => nothing }),
  gauge() {},
  gauges() {},
  histogram: () => nothing,
  histograms: () => ({ with: () => nothing }),
};
