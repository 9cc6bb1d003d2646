/** A bounded set whose members are forgotten after some time; when it is full, the one that was added first goes. */
export class Remembered {
  readonly #until = new Map<string, number>();
  readonly #forMs: number;
  readonly #max: number;
  readonly #now: () => number;

  /** @param now ms, monotonic */
  constructor(forMs: number, max: number, now: () => number) {
    this.#forMs = forMs;
    this.#max = max;
    this.#now = now;
  }

  has(key: string): boolean {
    const until = this.#until.get(key);
    if (until === undefined) return false;
    if (until > this.#now()) return true;
    this.#until.delete(key);
    return false;
  }

  add(key: string): void {
    this.#until.delete(key);
    if (this.#until.size >= this.#max) this.#until.delete(this.#until.keys().next().value!);
    this.#until.set(key, this.#now() + this.#forMs);
  }
}
