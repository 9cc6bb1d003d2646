import type { Clock } from "./options.ts";

/** At most one live timer, set for the earliest moment asked of it. Whoever it wakes looks what is next, and asks again. */
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
    // Rounded up: a timer that comes a hair too early finds nothing due.
    this.#off = this.#clock.setTimer(Math.max(0, Math.ceil(at - this.#clock.now())), this.#ring);
  }

  off(): void {
    this.#off?.();
    this.#off = undefined;
    this.#at = Infinity;
  }
}
