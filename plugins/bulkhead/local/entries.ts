import type { BulkheadGrant } from "../store.ts";
import type { Entry } from "./entry.ts";
import { Owners } from "./owners.ts";

/** What waits or holds permits of one connection, by the peer's number. */
export class Entries {
  readonly owners: Owners = new Owners();
  readonly #open = new Map<number, Entry>();
  readonly #failed: (cause: unknown) => void;

  /** @param failed permits could not be given back */
  constructor(failed: (cause: unknown) => void) {
    this.#failed = failed;
  }

  get size(): number {
    return this.#open.size;
  }

  get(number: number): Entry | undefined {
    return this.#open.get(number);
  }

  add(entry: Entry): void {
    this.#open.set(entry.number, entry);
  }

  /** It neither waits nor holds any more. */
  remove(entry: Entry): void {
    entry.end();
    this.#open.delete(entry.number);
    if (entry.owner > 1) this.owners.leave(entry.owner);
  }

  /** What waits must not get what is given back. */
  waitsFirst(): readonly Entry[] {
    const all = [...this.#open.values()];
    return [...all.filter(({ grant }) => grant === undefined), ...all.filter(({ grant }) => grant !== undefined)];
  }

  /** Gives back what the entry holds, or ends its wait. */
  drop(entry: Entry): void {
    entry.end();
    if (entry.grant === undefined) entry.cancel();
    else this.giveBack(entry.grant);
  }

  dropAll(): void {
    for (const entry of this.waitsFirst()) this.drop(entry);
    this.#open.clear();
  }

  /** @param tell told whether it was in time */
  giveBack(grant: BulkheadGrant, tell?: (inTime: boolean) => void): void {
    try {
      const inTime = grant.release();
      if (typeof inTime === "boolean") tell?.(inTime);
      else inTime.then(tell, (cause) => this.#notGiven(cause, tell));
    } catch (cause) {
      this.#notGiven(cause, tell);
    }
  }

  #notGiven(cause: unknown, tell: ((inTime: boolean) => void) | undefined): void {
    this.#failed(cause);
    tell?.(false);
  }
}
