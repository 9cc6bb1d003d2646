import { badLimit, badQueue, badTime } from "./errors.ts";
import { baseName, checkBaseName } from "./name.ts";

/** What a bulkhead may be held to. Times are in ms. */
export interface Terms {
  readonly maxConcurrent?: number | undefined;
  readonly lease?: number | undefined;
  readonly maxWait?: number | undefined;
  readonly maxQueue?: number | undefined;
}

/** How long a holder that is heard of no more keeps its permits when nobody says, in ms. */
export const usualLease = 5000;

/** The longest time that a timer can hold, in ms. */
const longest = 2 ** 31 - 1;

/**
 * Returns `terms` when each of them can be.
 *
 * @throws CoreError `BULKHEAD_LIMIT`, `BULKHEAD_TIME`
 */
export function checkTerms<T extends Terms>(name: string, terms: T): T {
  const { maxConcurrent, lease, maxWait, maxQueue } = terms;
  if (maxConcurrent !== undefined && !(Number.isSafeInteger(maxConcurrent) && maxConcurrent >= 1)) {
    throw badLimit(name, maxConcurrent);
  }
  if (maxQueue !== undefined && !(Number.isSafeInteger(maxQueue) && maxQueue >= 0)) {
    throw badQueue(name, maxQueue);
  }
  if (lease !== undefined && !(lease > 0 && lease <= longest)) throw badTime(name, "lease", lease);
  if (maxWait !== undefined && !(maxWait >= 0 && maxWait <= longest)) throw badTime(name, "longest wait", maxWait);
  return terms;
}

/** What the host has configured, by name. A name with a key has the terms of its bulkhead. */
export class Limits implements Iterable<readonly [name: string, terms: Terms]> {
  readonly #terms: ReadonlyMap<string, Terms>;

  /** @throws CoreError `BULKHEAD_NAME`, `BULKHEAD_LIMIT`, `BULKHEAD_TIME` */
  constructor(terms: Iterable<readonly [name: string, terms: Terms]> = []) {
    this.#terms = new Map(Array.from(terms, ([name, own]) => [checkBaseName(name), checkTerms(name, own)] as const));
  }

  of(name: string): Terms | undefined {
    return this.#terms.get(baseName(name));
  }

  [Symbol.iterator](): Iterator<readonly [name: string, terms: Terms]> {
    return this.#terms.entries();
  }
}
