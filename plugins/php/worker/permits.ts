/**
 * The permits of those who used a worker, until there is a worker for someone else. The gate before the pool has given out
 * as many permits as the pool is large; those it still has must never outnumber the idle workers because of a worker that is
 * being replaced, or its next guest would wait here instead of in the line.
 */
export class Permits {
  readonly #owed: (() => void)[] = [];

  /** Permits that have not come back. */
  get owed(): number {
    return this.#owed.length;
  }

  owe(onFree: () => void): void {
    this.#owed.push(onFree);
  }

  /** Gives permits back, the oldest first, while `may` says that there is a worker for one more. */
  pay(may: () => boolean): void {
    while (this.#owed.length > 0 && may()) this.#owed.shift()!();
  }
}
