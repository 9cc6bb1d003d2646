import type { Clock } from "./clock.ts";

/**
 * At most one live timer, set for the earliest moment asked of it. Later moments are left to whoever wakes: it looks what
 * is next and asks again, so a line of waiters costs a timer per grace window and not one per waiter.
 */
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

  /** Rings at `at` or before. `now` is for who has looked at the clock already. */
  by(at: number, now?: number): void {
    if (at >= this.#at) return;
    this.#off?.();
    this.#at = at;
    this.#off = this.#clock.setTimer(Math.max(0, at - (now ?? this.#clock.now())), this.#ring);
  }

  off(): void {
    this.#off?.();
    this.#off = undefined;
    this.#at = Infinity;
  }
}
