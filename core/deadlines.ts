import { setTimeout } from "node:timers";

/** Something that must have ended by `deadline` (ms of `performance.now()`). The links are the list's own. */
export interface Due<T> {
  readonly deadline: number;
  earlier: T | undefined;
  later: T | undefined;
}

/**
 * Calls back for what has not ended a while after its deadline. Everything must come in the order of its deadline, as
 * exchanges do that all have the same time: then a list through the items, and one timer for the first, are enough.
 */
export class Deadlines<T extends Due<T>> {
  readonly #patience: number;
  readonly #late: (item: T) => void;
  #first: T | undefined;
  #last: T | undefined;
  #timer: { unref(): void } | undefined;

  /** @param patience ms after the deadline: whoever looks after it himself comes first */
  constructor(patience: number, late: (item: T) => void) {
    this.#patience = patience;
    this.#late = late;
  }

  add(item: T): void {
    item.earlier = this.#last;
    if (this.#last === undefined) this.#first = item;
    else this.#last.later = item;
    this.#last = item;
    if (this.#timer === undefined) this.#arm(item.deadline);
  }

  /** Whether the item was still awaited. */
  delete(item: T): boolean {
    const { earlier, later } = item;
    if (earlier === undefined && this.#first !== item) return false;
    if (earlier === undefined) this.#first = later;
    else earlier.later = later;
    if (later === undefined) this.#last = earlier;
    else later.earlier = earlier;
    item.earlier = item.later = undefined;
    return true;
  }

  #arm(deadline: number): void {
    this.#timer = setTimeout(this.#look, Math.max(0, deadline + this.#patience - performance.now()));
    this.#timer.unref();
  }

  readonly #look = (): void => {
    this.#timer = undefined;
    for (let item = this.#first; item !== undefined; item = this.#first) {
      // A timer may come a little early.
      if (item.deadline + this.#patience > performance.now() + 1) return this.#arm(item.deadline);
      this.delete(item);
      this.#late(item);
    }
  };
}
