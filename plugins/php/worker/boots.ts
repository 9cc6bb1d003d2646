import type { Launch } from "./handle.ts";

/** How failed boots slow the next ones down. */
export interface BootRules {
  /** Most workers that boot at once: booting is work for the CPU. 4 when absent. */
  readonly bootsAtOnce?: number;
  /** After so many failures in a row only one worker at a time tries to boot; 3 when absent. */
  readonly breakerAfter?: number;
  /** Pause (ms) after the first failure, doubled by every further one; 100 when absent. */
  readonly firstPause?: number;
  /** The longest pause (ms); 10 s when absent. */
  readonly longestPause?: number;
}

/**
 * Exponential back-off and a breaker for the boots of one {@linkcode Launch}. A boot has succeeded only when its worker has
 * proved itself: by an answered request, or by a second of life. A worker that is ready and dies at once has failed.
 */
export class Boots {
  readonly #atOnce: number;
  readonly #breakerAfter: number;
  readonly #first: number;
  readonly #longest: number;
  readonly #random: () => number;
  #failures = 0;
  #notBefore = 0;

  constructor(rules: BootRules, random: () => number) {
    this.#atOnce = Math.max(1, rules.bootsAtOnce ?? 4);
    this.#breakerAfter = Math.max(1, rules.breakerAfter ?? 3);
    this.#first = rules.firstPause ?? 100;
    this.#longest = rules.longestPause ?? 10_000;
    this.#random = random;
  }

  /** Failures in a row. */
  get failures(): number {
    return this.#failures;
  }

  /** Whether the breaker is open. */
  get open(): boolean {
    return this.#failures >= this.#breakerAfter;
  }

  /** No boot begins before this time. */
  get notBefore(): number {
    return this.#notBefore;
  }

  /**
   * How many boots may begin now.
   *
   * @param booting workers that are not ready
   * @param unproved those, and ready ones that have not proved themselves
   */
  room(now: number, booting: number, unproved: number): number {
    if (now < this.#notBefore) return 0;
    return Math.max(0, this.open ? 1 - unproved : this.#atOnce - booting);
  }

  /** Chance only lengthens the pause, by up to a fifth: many pools must not try in step. */
  failed(now: number): void {
    const pause = Math.min(this.#longest, this.#first * 2 ** Math.min(this.#failures++, 20));
    this.#notBefore = now + pause * (1 + 0.2 * this.#random());
  }

  proved(): void {
    this.#failures = 0;
    this.#notBefore = 0;
  }
}

/** Workers that were started in one way: each reload begins another. */
export interface Generation {
  readonly launch: Launch;
  readonly boots: Boots;
  /** How many of it have been ready: the first ones get shorter lives, so that they do not end together. */
  born: number;
}
