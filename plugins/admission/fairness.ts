/** Waits kept: the newest. */
const kept = 512;
/** Older than this (ms) none counts. */
const memory = 10_000;
/** Below so many waits nothing is said: of fewer there is no 99th percentile. */
const enough = 100;

/**
 * How far waits are from those of an ideal line: each is compared with what whoever came to as long a line would have waited had it
 * gone in order, `(permits wanted ahead + its own) / permits granted per ms`. It says what a histogram of waits cannot: whether the
 * tail is long because the line is, or because some were passed.
 *
 * Only saturated time counts: grants to those who stood in line before the grant in front of theirs.
 */
export class Fairness {
  readonly #granted = new Float64Array(kept);
  readonly #waited = new Float64Array(kept);
  readonly #ahead = new Float64Array(kept);
  readonly #weight = new Float64Array(kept);
  #seen = 0;

  /** Somebody was granted `weight` permits at `now`, having waited so many ms behind `ahead` permits wanted. */
  granted(now: number, waitedMs: number, ahead: number, weight: number): void {
    const at = this.#seen++ % kept;
    this.#granted[at] = now;
    this.#waited[at] = waitedMs;
    this.#ahead[at] = ahead;
    this.#weight[at] = weight;
  }

  /**
   * The 99th percentile of wait over ideal wait in the last 10 s, of at most 512 waits behind at least `limit` permits; 1 is ideal.
   * `undefined` where there were too few.
   */
  ratio(now: number, limit: number): number | undefined {
    let busy = 0, permits = 0;
    const behind: number[] = [];
    for (let i = Math.max(0, this.#seen - kept); i < this.#seen; i++) {
      const at = i % kept, before = (i - 1) % kept;
      if (now - this.#granted[at]! > memory) continue;
      const came = this.#granted[at]! - this.#waited[at]!;
      if (i > Math.max(0, this.#seen - kept) && came <= this.#granted[before]!) {
        busy += this.#granted[at]! - this.#granted[before]!;
        permits += this.#weight[at]!;
      }
      // In a shorter line it is the luck of one execution.
      if (this.#ahead[at]! >= limit) behind.push(this.#waited[at]! / (this.#ahead[at]! + this.#weight[at]!));
    }
    if (behind.length < enough || busy === 0) return undefined;
    behind.sort((a, b) => a - b);
    return behind[Math.ceil(0.99 * behind.length) - 1]! * permits / busy;
  }
}
