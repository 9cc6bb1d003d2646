/** The least wait, in ms, that counts as a standing line, and the least interval. */
const leastTarget = 5;
const leastInterval = 100;

/**
 * Whether a line stands: CoDel as in the variant of Facebook's folly, judged when a turn comes. Of each interval the least
 * wait is kept; was that above the target, then the line did not empty for a whole interval, and in the next one whoever
 * has waited more than twice the target is one too many. The first of an interval is let in whatever it waited.
 *
 * A line in front of c permits held for s ms has a natural wait of s / c for each who waits, so the target is that of two of
 * them, at least 5 ms and at most a quarter of the grace window, and the interval 20 targets, at least 100 ms. s / c is what
 * the drain rate measures.
 *
 * Nichols and Jacobson, "Controlling Queue Delay" (ACM Queue, 2012); Maurer, "Fail at Scale" (ACM Queue, 2015).
 */
export class Codel {
  /** The wait, in ms, that a line may have without standing. */
  target: number = leastTarget;
  /** Intervals so far, and how many of them in a row the line has stood in. */
  intervals = 0;
  stood = 0;
  readonly #most: number;
  #least = Infinity;
  #ends = -Infinity;

  /** `grace` in ms. */
  constructor(grace: number) {
    this.#most = grace / 4;
  }

  get interval(): number {
    return Math.max(leastInterval, 20 * this.target);
  }

  /** Whether a wait has ended in this interval or the one before. */
  recent(now: number): boolean {
    return now < this.#ends + this.interval;
  }

  /** Whether a wait that ends at `now` closes an interval, so that {@linkcode Codel.judge} needs to know the drain rate. */
  closes(now: number): boolean {
    return now >= this.#ends;
  }

  /**
   * Takes in a wait of `waited` ms that ends now, on a gate that gives back `perMs` permits per ms (`Infinity`: unknown; of
   * account only when an interval closes);
   * true when it was too long.
   */
  judge(waited: number, now: number, perMs: number): boolean {
    if (now < this.#ends) {
      if (waited < this.#least) this.#least = waited;
      return this.stood > 0 && waited > 2 * this.target;
    }
    // An interval after which nobody came for as long again says nothing about now.
    this.stood = this.#least > this.target && this.recent(now) ? this.stood + 1 : 0;
    this.target = Math.min(Math.max(2 / perMs, leastTarget), this.#most);
    this.intervals++;
    this.#least = waited;
    this.#ends = now + this.interval;
    return false;
  }

  /** Somebody came and did not have to wait. */
  passed(): void {
    this.#least = 0;
  }
}
