import type { Clock } from "../clock.ts";

/** At most one live timer, set for the earliest moment asked of it; who is woken asks again for what comes next. */
export class Alarm {
  readonly #clock: Clock;
  readonly #ring: () => void;
  #at = Infinity;
  #off: (() => void) | undefined = undefined;

  constructor(clock: Clock, ring: () => void) {
    this.#clock = clock;
    this.#ring = () => {
      this.#off = undefined;
      this.#at = Infinity;
      ring();
    };
  }

  /** Rings at `at` or before. */
  by(at: number): void {
    if (at >= this.#at) return;
    this.#off?.();
    this.#at = at;
    this.#off = this.#clock.setTimer(at - this.#clock.now(), this.#ring);
  }

  off(): void {
    this.#off?.();
    this.#off = undefined;
    this.#at = Infinity;
  }
}
