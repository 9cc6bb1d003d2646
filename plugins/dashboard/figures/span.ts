import { countOf, type Distribution, distributionOf, growth, type Quantile, quantile } from "./distribution.ts";
import type { Metrics, Where } from "./metrics.ts";
import { increase, type Scrape } from "./scrapes.ts";

/** How long something took, of what ended within the window; undefined when nothing did. */
export interface Quantiles {
  readonly count: number;
  readonly p50: Quantile | undefined;
  readonly p90: Quantile | undefined;
  readonly p99: Quantile | undefined;
}

/** A counter: all there was since the server's start, what came since the scrape before, and that by the second. */
export interface Growth {
  readonly total: number;
  readonly increase: number;
  readonly perSecond: number | undefined;
}

/** The scrapes that a frame is made of. `before` and `base` are of the same process, or not there. */
export interface SpanOptions {
  readonly now: Scrape;
  /** The one before: rates are of the time since. */
  readonly before: Scrape | undefined;
  /** The oldest of the window: quantiles are of the time since. */
  readonly base: Scrape | undefined;
}

/** Reads numbers of now, and what has changed. */
export class Span {
  readonly now: Metrics;
  readonly at: number;
  readonly #before: Scrape | undefined;
  readonly #base: Scrape | undefined;
  readonly #seconds: number;

  constructor({ now, before, base }: SpanOptions) {
    this.now = now.metrics;
    this.at = now.at;
    this.#before = before;
    this.#base = base;
    this.#seconds = before === undefined ? NaN : (now.at - before.at) / 1000;
  }

  gauge(name: string, where: Where = {}): number | undefined {
    return this.now.value(name, where);
  }

  counter(name: string, where: Where = {}): Growth {
    const total = this.now.value(name, where) ?? 0;
    if (this.#before === undefined) return { total, increase: 0, perSecond: undefined };
    const grown = increase(this.#before.metrics, this.now, name, where);
    return { total, increase: grown, perSecond: grown / this.#seconds };
  }

  /** A counter that has not counted. */
  get nothing(): Growth {
    return { total: 0, increase: 0, perSecond: this.#before === undefined ? undefined : 0 };
  }

  /** A counter for each value of a label, where it has ever counted. */
  counters(name: string, label: string, where: Where = {}): readonly (Growth & { readonly label: string })[] {
    return this.now.valuesOf(name, label, where)
      .map((value) => ({ label: value, ...this.counter(name, { ...where, [label]: value }) }))
      .filter(({ total }) => total > 0);
  }

  quantiles(name: string, where: Where = {}): Quantiles {
    const grown = this.#grown(name, where);
    const at = (q: number) => grown && quantile(grown, q);
    return { count: grown === undefined ? 0 : countOf(grown), p50: at(0.5), p90: at(0.9), p99: at(0.99) };
  }

  #grown(name: string, where: Where): Distribution | undefined {
    const after = distributionOf(this.now, name, where);
    if (this.#base === undefined || after === undefined) return undefined;
    return growth(distributionOf(this.#base.metrics, name, where), after);
  }
}
