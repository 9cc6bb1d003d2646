import type { Bulkhead } from "./bulkhead.ts";
import { fitsKey } from "./name.ts";

/** How many bulkheads the keys share that have none of their own. */
const shared = 8;

/** A key in use: its bulkhead, and by how many. */
export interface Seat {
  readonly key: string;
  readonly bulkhead: Bulkhead;
  uses: number;
}

/**
 * Which bulkhead a key has. While as many keys as may be are in use, another one shares one of a few, the less used of the two that
 * its hash names: one busy key then meets few of the others (shuffle sharding, as API Priority and Fairness of Kubernetes does it).
 * A key that is too long for a name shares always.
 */
export class Seats {
  readonly #name: string;
  readonly #maxKeys: number;
  readonly #make: (key: string) => Bulkhead;
  readonly #seats = new Map<string, Seat>();

  constructor(name: string, maxKeys: number, make: (key: string) => Bulkhead) {
    this.#name = name;
    this.#maxKeys = maxKeys;
    this.#make = make;
  }

  get size(): number {
    return this.#seats.size;
  }

  take(key: string): Seat {
    const own = this.#own(key);
    let seat = this.#seats.get(own);
    if (seat === undefined) {
      seat = { key: own, bulkhead: this.#make(own), uses: 0 };
      this.#seats.set(own, seat);
    }
    seat.uses++;
    return seat;
  }

  leave(seat: Seat): void {
    if (--seat.uses === 0) this.#seats.delete(seat.key);
  }

  /** The bulkhead that `key` would have now. */
  look(key: string): Bulkhead {
    const own = this.#own(key);
    return this.#seats.get(own)?.bulkhead ?? this.#make(own);
  }

  #own(key: string): string {
    if (this.#seats.has(key) || (this.#seats.size < this.#maxKeys && fitsKey(this.#name, key))) return key;
    const hash = fnv1a(key);
    const [a, b] = [sharedKey(hash % shared), sharedKey((hash >>> 16) % shared)];
    return (this.#seats.get(a)?.uses ?? 0) <= (this.#seats.get(b)?.uses ?? 0) ? a : b;
  }
}

/** What no header, no address and no name of a tenant is. */
function sharedKey(which: number): string {
  return `\0shared ${which}`;
}

/** FNV-1a of 32 bits, over UTF-16. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}
