import type { MemoryWait } from "./memory_wait.ts";

/**
 * Waiters in order of arrival, linked through themselves: the first, one more, and one less anywhere are O(1). A `Set` would be as
 * short to write, but to find its first member it goes past every one that has been deleted in front of it.
 */
export class WaitLine implements Iterable<MemoryWait> {
  first: MemoryWait | undefined = undefined;
  size = 0;
  #last: MemoryWait | undefined = undefined;

  add(wait: MemoryWait): void {
    wait.line = this;
    wait.before = this.#last;
    if (this.#last === undefined) this.first = wait;
    else this.#last.after = wait;
    this.#last = wait;
    this.size++;
  }

  has(wait: MemoryWait): boolean {
    return wait.line === this;
  }

  delete(wait: MemoryWait): void {
    if (wait.line !== this) return;
    const { before, after } = wait;
    if (before === undefined) this.first = after;
    else before.after = after;
    if (after === undefined) this.#last = before;
    else after.before = before;
    wait.line = wait.before = wait.after = undefined;
    this.size--;
  }

  *[Symbol.iterator](): Generator<MemoryWait> {
    for (let wait = this.first; wait !== undefined; wait = wait.after) yield wait;
  }
}
