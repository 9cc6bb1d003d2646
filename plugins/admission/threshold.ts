import { Codel } from "./codel.ts";

/** How many of the four classes may be turned away: the two that call themselves sheddable. */
const mostShed = 2;

/**
 * Which classes are turned away before they queue: one more after each interval in which even the shortest wait was above
 * the target of {@linkcode Codel}, one fewer after each other, none when nobody has waited for a while.
 *
 * After Zhou et al., "Overload Control for Scaling WeChat Microservices" (SoCC 2018).
 */
export class Threshold {
  readonly #line: Codel;
  #seen = 0;
  #level = 0;

  constructor(grace: number) {
    this.#line = new Codel(grace);
  }

  get active(): boolean {
    return this.#level > 0;
  }

  /** Classes turned away, counted from the lowest. */
  level(now: number): number {
    if (this.#level > 0 && !this.#line.recent(now)) this.#level = 0;
    return this.#level;
  }

  /** See {@linkcode Codel.closes}. */
  closes(now: number): boolean {
    return this.#line.closes(now);
  }

  /** Takes in a wait that ends now; see {@linkcode Codel.judge}. */
  observe(waited: number, now: number, perMs: number): void {
    this.#line.judge(waited, now, perMs);
    if (this.#line.intervals === this.#seen) return;
    this.#seen = this.#line.intervals;
    this.#level = this.#line.stood > 0 ? Math.min(this.#level + 1, mostShed) : Math.max(this.#level - 1, 0);
  }

  /** Somebody came and did not have to wait. */
  passed(): void {
    this.#line.passed();
  }
}
