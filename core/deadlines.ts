import { clearTimeout, setTimeout } from "node:timers";

/** Something that must have ended by `deadline` (ms of `performance.now()`). */
export interface Due {
  readonly deadline: number;
  /** Where it stands among those that are awaited, -1 when it does not; nobody else's to change. */
  place: number;
}

/**
 * Calls back for what has not ended a while after its deadline: a binary heap, and one timer for its first. What comes in the
 * order of its deadline, as exchanges mostly do, stays where it is put.
 */
export class Deadlines<T extends Due> {
  readonly #patience: number;
  readonly #late: (item: T) => void;
  readonly #heap: T[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The deadline that the timer is for. */
  #armed = 0;

  /** @param patience ms after the deadline: whoever looks after it himself comes first */
  constructor(patience: number, late: (item: T) => void) {
    this.#patience = patience;
    this.#late = late;
  }

  add(item: T): void {
    this.#rise(this.#heap.length, item);
    if (this.#timer === undefined || item.deadline < this.#armed) this.#arm(item.deadline);
  }

  /** Whether the item was still awaited. */
  delete(item: T): boolean {
    const at = item.place;
    if (at < 0) return false;
    item.place = -1;
    const last = this.#heap.pop()!;
    if (last !== item) {
      if (last.deadline < item.deadline) this.#rise(at, last);
      else this.#sink(at, last);
    }
    return true;
  }

  /** Puts the item at this place, or at that of a parent that has more time. */
  #rise(at: number, item: T): void {
    const heap = this.#heap;
    while (at > 0) {
      const up = (at - 1) >> 1, parent = heap[up]!;
      if (parent.deadline <= item.deadline) break;
      heap[at] = parent;
      parent.place = at;
      at = up;
    }
    heap[at] = item;
    item.place = at;
  }

  /** Puts the item at this place, or at that of a child that has less time. */
  #sink(at: number, item: T): void {
    const heap = this.#heap, { length } = heap;
    for (let down = 2 * at + 1; down < length; down = 2 * at + 1) {
      if (down + 1 < length && heap[down + 1]!.deadline < heap[down]!.deadline) down++;
      const child = heap[down]!;
      if (child.deadline >= item.deadline) break;
      heap[at] = child;
      child.place = at;
      at = down;
    }
    heap[at] = item;
    item.place = at;
  }

  #arm(deadline: number): void {
    clearTimeout(this.#timer);
    this.#armed = deadline;
    this.#timer = setTimeout(this.#look, Math.max(0, deadline + this.#patience - performance.now()));
    this.#timer.unref();
  }

  readonly #look = (): void => {
    this.#timer = undefined;
    for (let item = this.#heap[0]; item !== undefined; item = this.#heap[0]) {
      // A timer may come a little early.
      if (item.deadline + this.#patience > performance.now() + 1) return this.#arm(item.deadline);
      this.delete(item);
      this.#late(item);
    }
  };
}
