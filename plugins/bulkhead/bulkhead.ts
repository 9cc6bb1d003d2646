import type {
  Bulkhead as BulkheadContract,
  BulkheadOptions,
  BulkheadPermit,
  BulkheadWait,
} from "../../core/contracts/bulkheads.ts";
import type { Awaitable } from "../../core/plugin.ts";
import { denied, noLimit } from "./errors.ts";
import { checkTerms, usualLease } from "./limits.ts";
import { checkBaseName, keyedName } from "./name.ts";
import { StorePermit } from "./permit.ts";
import type { BulkheadAnswer, BulkheadAsk, BulkheadCounts, BulkheadDenial, BulkheadStore } from "./store.ts";

/** Runs `work`, and gives `permit` back when it has ended, however it ended. */
export async function callWith<T>(permit: BulkheadPermit, work: (permit: BulkheadPermit) => Awaitable<T>): Promise<T> {
  try {
    return await work(permit);
  } finally {
    try {
      await permit.release();
    } catch {
      // The work is done, and must not be done again because of this; the lease ends what the store was not told of.
    }
  }
}

/** What a {@linkcode Bulkhead} is made of. */
export interface StoreBulkheadOptions extends BulkheadOptions {
  readonly name: string;
  /** Who keeps the permits. All bulkheads of one name in one store share them. */
  readonly store: BulkheadStore;
  /** With a key, this is the bulkhead of that key alone. */
  readonly key?: string;
}

/**
 * A named cap on simultaneous calls. It keeps nothing itself, so that any number of them may stand for one name.
 *
 * @example
 * ```ts
 * const legacy = new Bulkhead({ name: "legacy-api", maxConcurrent: 5, maxWait: 200, store });
 * const answer = await legacy.call(({ signal }) => fetch(url, { signal }));
 *
 * {
 *   await using permit = await legacy.acquire({ weight: 2 });
 *   await write(permit.fence);
 * }
 * ```
 */
export class Bulkhead implements BulkheadContract {
  readonly name: string;
  readonly maxConcurrent: number;
  readonly lease: number;
  readonly maxWait: number;
  readonly maxQueue: number | undefined;
  readonly #store: BulkheadStore;
  readonly #options: BulkheadOptions;

  /** @throws CoreError `BULKHEAD_NAME`, `BULKHEAD_KEY`, `BULKHEAD_LIMIT`, `BULKHEAD_TIME`, `BULKHEAD_UNKNOWN` (no limit) */
  constructor(options: StoreBulkheadOptions) {
    const { name, key, maxConcurrent, lease = usualLease, maxWait = 0, maxQueue } = options;
    checkTerms(checkBaseName(name), { maxConcurrent, lease, maxWait, maxQueue });
    if (maxConcurrent === undefined) throw noLimit(name);
    this.name = key === undefined ? name : keyedName(name, key);
    this.maxConcurrent = maxConcurrent;
    this.lease = lease;
    this.maxWait = maxWait;
    this.maxQueue = maxQueue;
    this.#store = options.store;
    this.#options = options;
  }

  async acquire(wait: BulkheadWait = {}): Promise<StorePermit> {
    const answer = await this.#ask(wait, wait.maxWait ?? this.maxWait);
    return answer.granted ? this.#accept(answer, wait.signal) : this.#reject(answer);
  }

  async tryAcquire(wait: Omit<BulkheadWait, "maxWait"> = {}): Promise<StorePermit | undefined> {
    const answer = await this.#ask(wait, 0);
    if (answer.granted) return this.#accept(answer, wait.signal);
    if (answer.reason !== "full" && answer.reason !== "queue_full") return this.#reject(answer);
    this.#options.onRejected?.(this.name, answer.waitedMs, answer.reason);
    return undefined;
  }

  async call<T>(work: (permit: BulkheadPermit) => Awaitable<T>, wait: BulkheadWait = {}): Promise<T> {
    return await callWith(await this.acquire(wait), work);
  }

  async availableSlots(): Promise<number> {
    const counts = await this.counts();
    return Math.max(counts.limit - counts.active, 0);
  }

  async activeCount(): Promise<number> {
    return (await this.counts()).active;
  }

  /** All of its numbers in one look, which changes nothing. */
  async counts(): Promise<BulkheadCounts> {
    return await this.#store.counts(this.name) ??
      { limit: this.maxConcurrent, active: 0, holders: 0, queued: 0, oldestWaitMs: 0 };
  }

  #ask({ weight = 1, owner, signal }: BulkheadWait, maxWaitMs: number): Awaitable<BulkheadAnswer> {
    checkTerms(this.name, { maxWait: maxWaitMs });
    const ask: BulkheadAsk = {
      name: this.name,
      limit: this.maxConcurrent,
      weight,
      leaseMs: this.lease,
      maxWaitMs,
      ...(this.maxQueue === undefined ? undefined : { maxQueue: this.maxQueue }),
      ...(owner === undefined ? undefined : { owner }),
      ...(signal === undefined ? undefined : { signal }),
    };
    return this.#store.acquire(ask);
  }

  async #accept(grant: BulkheadAnswer & { readonly granted: true }, signal?: AbortSignal): Promise<StorePermit> {
    const { onAccepted, onLost } = this.#options;
    // Who left while the answer was on its way would never give the permits back.
    if (signal?.aborted) {
      await grant.release();
      const { waitedMs } = grant;
      return this.#reject({ granted: false, reason: "cancelled", waitedMs, retryAfterMs: 0, cause: signal.reason });
    }
    const permit = new StorePermit(grant);
    try {
      if (onLost !== undefined) grant.onLost(() => onLost(this.name, permit));
      onAccepted?.(this.name, grant.waitedMs, permit);
    } catch (error) {
      await grant.release();
      throw error;
    }
    return permit;
  }

  #reject(denial: BulkheadDenial): never {
    this.#options.onRejected?.(this.name, denial.waitedMs, denial.reason);
    throw denied(this.name, denial);
  }
}
