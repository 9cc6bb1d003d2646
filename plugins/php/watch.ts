import type { Clock } from "./fastcgi/clock.ts";

/** Something that is looked at while it runs. */
export interface Watched {
  look(now: number): void;
}

/**
 * Looks at everything that runs every few ms, with one timer that exists only while something runs. There are never more
 * runs than PHP processes, so this is cheaper than a timer or a listener for each request; most are over before the
 * first look.
 */
export class Watch {
  readonly #clock: Clock;
  readonly #every: number;
  readonly #live = new Set<Watched>();
  #cancel: (() => void) | undefined;

  /** @param every milliseconds between looks */
  constructor(clock: Clock, every: number) {
    this.#clock = clock;
    this.#every = every;
  }

  add(item: Watched): void {
    this.#live.add(item);
    this.#cancel ??= this.#clock.after(this.#every, this.#look);
  }

  delete(item: Watched): void {
    this.#live.delete(item);
  }

  close(): void {
    this.#cancel?.();
    this.#live.clear();
  }

  readonly #look = (): void => {
    this.#cancel = undefined;
    const now = this.#clock.now();
    for (const item of this.#live) item.look(now);
    if (this.#live.size > 0) this.#cancel ??= this.#clock.after(this.#every, this.#look);
  };
}
