import type { Clock } from "./fastcgi/clock.ts";

/** Something that must not go on past a moment. */
export interface Limited {
  /** Milliseconds on the clock. */
  readonly deadline: number;
  expire(): void;
}

/** Watches a few deadlines (as many as there are PHP processes) with one timer, so that a request costs no timer. */
export class Deadlines {
  readonly #clock: Clock;
  readonly #live = new Set<Limited>();
  #armed = Infinity;
  #cancel: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(item: Limited): void {
    this.#live.add(item);
    if (item.deadline < this.#armed) this.#arm(item.deadline);
  }

  /** The timer stays as it is: when it fires for nothing it is set for the next deadline. */
  delete(item: Limited): void {
    this.#live.delete(item);
  }

  close(): void {
    this.#cancel?.();
    this.#live.clear();
  }

  #arm(at: number): void {
    this.#cancel?.();
    this.#armed = at;
    this.#cancel = this.#clock.after(Math.max(0, at - this.#clock.now()), () => this.#fire());
  }

  #fire(): void {
    this.#cancel = undefined;
    this.#armed = Infinity;
    const now = this.#clock.now();
    let next = Infinity;
    for (const item of [...this.#live]) {
      // Timers may fire a fraction early.
      if (item.deadline <= now + 1) {
        this.#live.delete(item);
        item.expire();
      } else next = Math.min(next, item.deadline);
    }
    if (next < this.#armed) this.#arm(next);
  }
}
