/** Service times kept of one window: a median needs no more. */
const kept = 256;

/** What completed within some time. */
export class ServiceWindow {
  readonly start: number;
  /** The most and the fewest that ran at once. */
  peak: number;
  low: number;
  readonly #first: number;
  readonly #times: number[] = [];
  #seen = 0;
  #ended = 0;

  /** `running` at its start. */
  constructor(start: number, running: number) {
    this.start = start;
    this.#first = this.peak = this.low = running;
  }

  get samples(): number {
    return this.#seen;
  }

  begun(running: number): void {
    if (running > this.peak) this.peak = running;
  }

  /** `running` without it. */
  ended(running: number): void {
    if (running < this.low) this.low = running;
    this.#ended++;
  }

  /** Once full, the newest service times take the place of the oldest. */
  took(ms: number): void {
    this.#times[this.#seen++ % kept] = ms;
  }

  /** Of the service times, in ms. */
  get median(): number {
    const sorted = this.#times.slice().sort((a, b) => a - b);
    return sorted[sorted.length >> 1] ?? NaN;
  }

  /**
   * Executions ended per ms while `limit` ran all the time; undefined when it was not so. Those above it at the start, from a
   * higher limit, have no successors: they would make a decrease look better than it is. One that has just ended is missed
   * by nobody: its successor is about to begin.
   */
  rateAt(limit: number, now: number): number | undefined {
    if (Math.min(this.#first, this.low + limit / 8) < limit - 1) return undefined;
    return (this.#ended - Math.max(0, this.#first - limit)) / Math.max(now - this.start, 1e-6);
  }
}
