import type { Bulkheads } from "../core/contracts/bulkheads.ts";
import { FairGate } from "../plugins/admission/fair_gate.ts";
import { NamedGates } from "../plugins/admission/gates.ts";
import { Limits, type Terms } from "../plugins/bulkhead/limits.ts";
import { MemoryStore } from "../plugins/bulkhead/memory_store.ts";
import { BulkheadRegistry } from "../plugins/bulkhead/registry.ts";
import type { BulkheadEvents, BulkheadStore } from "../plugins/bulkhead/store.ts";

/** What bulkheads without a server around them may be given. */
export interface CreateBulkheadsOptions {
  /** Limits by name, so that code need not repeat them and cannot exceed them. Times in ms. */
  readonly limits?: Readonly<Record<string, Terms>>;
  /** Who keeps the permits; the memory of this process when absent. */
  readonly store?: BulkheadStore;
  /** Told of permits that were lost; of account only for the store of this process. */
  readonly events?: BulkheadEvents;
}

/** Bulkheads, and the way to end them. */
export interface OwnBulkheads extends Bulkheads {
  readonly store: BulkheadStore;
  /** Refuses who waits and who comes; permits that are out may still be given back. */
  close(): Promise<void>;
}

/**
 * Makes bulkheads without a server: those of this process when no store is given.
 *
 * @throws CoreError `BULKHEAD_NAME`, `BULKHEAD_LIMIT`, `BULKHEAD_TIME` for limits that are wrong
 *
 * @example
 * ```ts
 * const bulkheads = createBulkheads({ limits: { "legacy-api": { maxConcurrent: 5, maxWait: 200 } } });
 * const answer = await bulkheads.get("legacy-api").call(({ signal }) => fetch(url, { signal }));
 * ```
 */
export function createBulkheads(options: CreateBulkheadsOptions = {}): OwnBulkheads {
  const limits = new Limits(Object.entries(options.limits ?? {}));
  const { store = inMemory(limits, options.events) } = options;
  const registry = new BulkheadRegistry(store, limits);
  return {
    store,
    get: (name, own) => registry.get(name, own),
    keyed: (name, own) => registry.keyed(name, own),
    close: async () => await store.close(),
  };
}

function inMemory(limits: Limits, events: BulkheadEvents = {}): BulkheadStore {
  const gates = new NamedGates((name, limit) => new FairGate({ name, limit }));
  return new MemoryStore({ gates, limits, events });
}
