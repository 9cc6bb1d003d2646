/** Holds over which mean and spread are taken. */
const kept = 1024;
/** Holds before which the spread is that of exponential times. */
const few = 20;
/** Standard deviations by which a wait may turn out longer than foretold: one in a hundred does, or fewer, whatever the times are. */
const deviations = 3;

/** How long permits were out that somebody had waited for: what makes one wait differ from the next. */
export class HoldTimes {
  #seen = 0;
  #mean = 0;
  #square = 0;
  #weight = 0;
  #weightSquare = 0;

  /** `weight` permits were out for `ms`. */
  took(ms: number, weight: number): void {
    if (this.#seen < kept) this.#seen++;
    const part = 1 / this.#seen;
    this.#mean += (ms - this.#mean) * part;
    this.#square += (ms * ms - this.#square) * part;
    this.#weight += (weight - this.#weight) * part;
    this.#weightSquare += (weight * weight - this.#weightSquare) * part;
  }

  /**
   * The variance over the mean of how many permits come back in some time: 0 when all are out equally long, 1 for
   * exponential times and as long as little is known.
   */
  get dispersion(): number {
    if (this.#seen < few || this.#mean <= 0) return 1;
    const squaredDeviation = Math.max(0, this.#square / (this.#mean * this.#mean) - 1);
    return squaredDeviation * this.#weightSquare / this.#weight;
  }
}

/**
 * How many permits are sure enough to come back in time, where `expected` would on average: whose turn comes later would likely
 * wait in vain. The wait for `n` permits at a rate of `r` is n / r, give or take √(n x dispersion) / r (the central limit theorem of
 * renewal processes: Cox, "Renewal Theory", 1962, section 3.3).
 *
 * @example
 * ```ts
 * reach(100, 0);  // 100: permits like clockwork
 * reach(100, 1);  // 78
 * reach(100, 13); // 41: a page in twenty takes a hundred times as long as the others
 * ```
 */
export function reach(expected: number, dispersion: number): number {
  const spread = deviations * Math.sqrt(dispersion);
  return ((Math.sqrt(spread * spread + 4 * expected) - spread) / 2) ** 2;
}
