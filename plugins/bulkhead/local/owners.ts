import type { Asker } from "./peer_process.ts";

/** Those that a connection asks for: one object each, for as long as anything is asked or held for them. */
export class Owners {
  readonly #known = new Map<number, Asker & { uses: number }>();

  /** For one ask more; `asker`: whose part it is. */
  take(number: number, asker: Asker): object {
    let owner = this.#known.get(number);
    if (owner === undefined) this.#known.set(number, owner = { ...asker, uses: 0 });
    owner.uses++;
    return owner;
  }

  /** For one ask less. */
  leave(number: number): void {
    const owner = this.#known.get(number);
    if (owner !== undefined && --owner.uses === 0) this.#known.delete(number);
  }
}
