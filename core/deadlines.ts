import { setTimeout } from "node:timers";

/** Something that must have ended by `deadline` (ms of `performance.now()`). */
export interface Due {
  readonly deadline: number;
}

/**
 * Calls back for what has not ended a while after its deadline. Everything must come in the order of its deadline, as
 * exchanges do that all have the same time: then one timer, set for the oldest, is enough.
 */
export class Deadlines<T extends Due> {
  readonly #due = new Map<T, () => void>();
  readonly #patience: number;
  #timer: { unref(): void } | undefined;

  /** @param patience ms after the deadline: whoever looks after it himself comes first */
  constructor(patience: number) {
    this.#patience = patience;
  }

  add(item: T, late: () => void): void {
    this.#due.set(item, late);
    if (this.#timer === undefined) this.#arm(item.deadline);
  }

  /** Whether the item was still awaited. */
  delete(item: T): boolean {
    return this.#due.delete(item);
  }

  #arm(deadline: number): void {
    this.#timer = setTimeout(this.#look, Math.max(0, deadline + this.#patience - performance.now()));
    this.#timer.unref();
  }

  readonly #look = (): void => {
    this.#timer = undefined;
    for (const [item, late] of this.#due) {
      // A timer may come a little early.
      if (item.deadline + this.#patience > performance.now() + 1) return this.#arm(item.deadline);
      this.#due.delete(item);
      late();
    }
  };
}
