import type { Clock } from "./clock.ts";

/** Ms between two tellings of one kind. */
const everyMs = 1000;

/** What has happened of one kind since it was told last. */
interface Untold<T> {
  sum: T | undefined;
  /** Calls off the telling that is to come. */
  readonly off: () => void;
}

/**
 * Tells the first of a kind at once, and what follows within a second together at its end: a flood of events is no flood of lines,
 * and none of them is lost.
 *
 * @example
 * ```ts
 * const full = new Sparing<string, number>(clock, (a, b) => a + b, (pool, times) => log("warn", "Full", { pool, times }));
 * full.happened("php", 1);
 * ```
 */
export class Sparing<K, T> {
  readonly #clock: Clock;
  readonly #add: (sum: T, one: T) => T;
  readonly #tell: (kind: K, sum: T) => void;
  readonly #kinds = new Map<K, Untold<T>>();

  constructor(clock: Clock, add: (sum: T, one: T) => T, tell: (kind: K, sum: T) => void) {
    this.#clock = clock;
    this.#add = add;
    this.#tell = tell;
  }

  /** Kinds that were told within the last second. */
  get size(): number {
    return this.#kinds.size;
  }

  /** Whether the next of this kind is not told at once. */
  has(kind: K): boolean {
    return this.#kinds.has(kind);
  }

  /** `first` tells it in place of the usual telling, if it is the first. */
  happened(kind: K, one: T, first?: () => void): void {
    const untold = this.#kinds.get(kind);
    if (untold !== undefined) {
      untold.sum = untold.sum === undefined ? one : this.#add(untold.sum, one);
      return;
    }
    this.#hush(kind);
    if (first === undefined) this.#tell(kind, one);
    else first();
  }

  /** Tells what has not been told yet. */
  close(): void {
    for (const [kind, { sum, off }] of this.#kinds) {
      off();
      if (sum !== undefined) this.#tell(kind, sum);
    }
    this.#kinds.clear();
  }

  #hush(kind: K): void {
    const off = this.#clock.setTimer(everyMs, () => {
      const { sum } = this.#kinds.get(kind)!;
      this.#kinds.delete(kind);
      if (sum === undefined) return;
      this.#hush(kind);
      this.#tell(kind, sum);
    });
    this.#kinds.set(kind, { sum: undefined, off });
  }
}
