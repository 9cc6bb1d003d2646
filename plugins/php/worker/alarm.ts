import type { Clock } from "../fastcgi/clock.ts";

/**
 * One timer for many deadlines: it rings no later than the earliest moment asked for. Whoever hears it looks at all that
 * wait, and asks again for those that still do; so a deadline that is set and forgotten with every request costs a
 * comparison.
 */
export class Alarm {
  readonly #clock: Clock;
  readonly #ring: (now: number) => void;
  #at = Infinity;
  #cancel: (() => void) | undefined;

  constructor(clock: Clock, ring: (now: number) => void) {
    this.#clock = clock;
    this.#ring = ring;
  }

  /** Rings at `time` (ms on the clock) or before. */
  at(time: number): void {
    if (time >= this.#at) return;
    this.#cancel?.();
    this.#at = time;
    this.#cancel = this.#clock.after(Math.min(Math.max(0, time - this.#clock.now()), 2 ** 31 - 1), () => {
      this.#at = Infinity;
      this.#cancel = undefined;
      this.#ring(this.#clock.now());
    });
  }

  clear(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#at = Infinity;
  }
}
