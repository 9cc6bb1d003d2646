/** What Redis may still have of those who are gone here: told to it when it is back, and forgotten when it has ended by itself. */
export class Debts {
  /** An ask's id, and the moment from which Redis has nothing of it any more, in ms on the host's clock. */
  readonly #until = new Map<string, number>();

  get none(): boolean {
    return this.#until.size === 0;
  }

  owe(id: string, until: number): void {
    this.#until.set(id, until);
  }

  /** Drops those that have ended by now. */
  sweep(now: number): void {
    for (const [id, until] of this.#until) if (until <= now) this.#until.delete(id);
  }

  /** Takes all that have not ended. */
  take(now: number): readonly (readonly [id: string, until: number])[] {
    this.sweep(now);
    const all = [...this.#until];
    this.#until.clear();
    return all;
  }
}
