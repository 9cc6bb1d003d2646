import { clearTimeout, setTimeout } from "node:timers";

/** Something that must have ended by `deadline` (ms of `performance.now()`). The links are the list's own. */
export interface Due<T> {
  readonly deadline: number;
  earlier: T | undefined;
  later: T | undefined;
}

/**
 * Calls back for what has not ended a while after its deadline. Most comes in the order of its deadline, as exchanges do that
 * all have the same time: so a list through the items, and one timer for the first, are enough. Who has less time than others
 * passes them from behind.
 */
export class Deadlines<T extends Due<T>> {
  readonly #patience: number;
  readonly #late: (item: T) => void;
  #first: T | undefined;
  #last: T | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The deadline that the timer is for. */
  #armed = 0;

  /** @param patience ms after the deadline: whoever looks after it himself comes first */
  constructor(patience: number, late: (item: T) => void) {
    this.#patience = patience;
    this.#late = late;
  }

  add(item: T): void {
    let before = this.#last, after: T | undefined;
    while (before !== undefined && before.deadline > item.deadline) {
      after = before;
      before = before.earlier;
    }
    item.earlier = before;
    item.later = after;
    if (before === undefined) this.#first = item;
    else before.later = item;
    if (after === undefined) this.#last = item;
    else after.earlier = item;
    if (this.#timer === undefined || item.deadline < this.#armed) this.#arm(item.deadline);
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
    clearTimeout(this.#timer);
    this.#armed = deadline;
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
