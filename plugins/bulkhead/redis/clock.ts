import { clearTimeout, setTimeout } from "node:timers";

/** Time as a host of permits sees it; tests may hold it in their hands. */
export interface HostClock {
  /** Milliseconds that never step back. */
  now(): number;
  /** Runs `fire` once, `ms` from now. Returns a function that calls it off. */
  setTimer(ms: number, fire: () => void): () => void;
}

/** The longest delay `setTimeout` keeps; a longer one would fire at once. */
const longest = 2 ** 31 - 1;

/** `performance.now` and the runtime's timers. A timer does not keep the process alive. */
export const systemClock: HostClock = {
  now: () => performance.now(),
  setTimer(ms, fire) {
    const handle = setTimeout(fire, Math.min(Math.max(ms, 0), longest));
    handle.unref();
    return () => clearTimeout(handle);
  },
};

/** At most one live timer, set for the earliest moment asked of it; who is woken asks again for what comes next. */
export class Alarm {
  readonly #clock: HostClock;
  readonly #ring: () => void;
  #at = Infinity;
  #off: (() => void) | undefined = undefined;

  constructor(clock: HostClock, ring: () => void) {
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
