/** How much of a new measurement is taken in at a time. */
const part = 0.5;
/** The most it may rise by at a time. */
const rise = 1.25;

/**
 * Service time without company, in ms, learned from the medians of windows. It falls with whatever is lower, and rises only by
 * what was measured while few ran, by a quarter at most: one bad moment moves it little, and overload not at all.
 */
export class Baseline {
  #ms: number | undefined = undefined;

  get ms(): number | undefined {
    return this.#ms;
  }

  /** Few ran. */
  quiet(median: number): number {
    const known = this.#ms;
    return this.#ms = known === undefined ? median : Math.min(known + part * (median - known), rise * known);
  }

  /** Many ran. */
  loaded(median: number): number {
    const known = this.#ms;
    return known === undefined || median < known ? this.quiet(median) : known;
  }
}
