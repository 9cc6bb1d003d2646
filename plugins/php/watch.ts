import type { Clock } from "../../core/clock.ts";

/** Something that is looked at while it runs. */
export interface Watched {
  /** Its place in the watch; the watch's own. */
  place: number;
  look(now: number): void;
}

/**
 * Looks at everything that runs every few ms, with one timer that exists only while something runs. There are never more
 * runs than PHP processes, so this is cheaper than a timer or a listener for each request; most are over before the
 * first look.
 */
export class Watch<T extends Watched = Watched> implements Iterable<T> {
  readonly #clock: Clock;
  readonly #every: number;
  readonly #live: T[] = [];
  #cancel: (() => void) | undefined;

  /** @param every milliseconds between looks */
  constructor(clock: Clock, every: number) {
    this.#clock = clock;
    this.#every = every;
  }

  add(item: T): void {
    item.place = this.#live.push(item) - 1;
    this.#cancel ??= this.#clock.setTimer(this.#every, this.#look);
  }

  delete(item: T): void {
    if (this.#live[item.place] !== item) return;
    const last = this.#live.pop()!;
    if (last === item) return;
    this.#live[item.place] = last;
    last.place = item.place;
  }

  /** All that runs, in no order. */
  [Symbol.iterator](): Iterator<T> {
    return this.#live.values();
  }

  close(): void {
    this.#cancel?.();
    this.#live.length = 0;
  }

  readonly #look = (): void => {
    this.#cancel = undefined;
    const now = this.#clock.now();
    // Backwards: an item that ends while it is looked at swaps with one that has been looked at.
    for (let i = this.#live.length - 1; i >= 0; i--) this.#live[i]?.look(now);
    if (this.#live.length > 0) this.#cancel ??= this.#clock.setTimer(this.#every, this.#look);
  };
}
