/** The least that is a store: FIFO, weights, waits that end. Its permits are kept in plain numbers, so that tests can look. */
import { badLimit, badWeight } from "../../../plugins/bulkhead/errors.ts";
import { checkName } from "../../../plugins/bulkhead/name.ts";
import type {
  BulkheadAnswer,
  BulkheadAsk,
  BulkheadCounts,
  BulkheadDenialReason,
  BulkheadGrant,
  BulkheadStore,
} from "../../../plugins/bulkhead/store.ts";

interface Waiting {
  readonly ask: BulkheadAsk;
  readonly since: number;
  settle(reason: BulkheadDenialReason | undefined): void;
}

interface Bulkhead {
  limit: number;
  active: number;
  holders: number;
  readonly line: Waiting[];
}

class TinyGrant implements BulkheadGrant {
  readonly granted = true;
  readonly name: string;
  readonly weight: number;
  readonly waitedMs: number;
  readonly position: number;
  readonly fence: number;
  readonly #store: TinyStore;
  readonly #listeners = new Set<() => void>();
  over = false;
  lost = false;

  constructor(store: TinyStore, { name, weight }: BulkheadAsk, waitedMs: number, position: number, fence: number) {
    this.#store = store;
    this.name = name;
    this.weight = weight;
    this.waitedMs = waitedMs;
    this.position = position;
    this.fence = fence;
  }

  onLost(listener: () => void): () => void {
    if (this.lost) listener();
    else this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  release(): boolean {
    if (this.lost) return false;
    if (!this.over) {
      this.over = true;
      this.#store.giveBack(this);
    }
    return true;
  }

  lose(): void {
    this.lost = true;
    for (const listener of this.#listeners) listener();
    this.#store.giveBack(this);
  }
}

export class TinyStore implements BulkheadStore {
  readonly kind = "memory";
  readonly all: Map<string, Bulkhead> = new Map();
  readonly grants: Set<TinyGrant> = new Set();
  readonly owners: (object | undefined)[] = [];
  /** Answers come in a later turn, as those of a store behind a network. */
  readonly slow: boolean;
  #fence = 2 ** 40;

  constructor(slow = false) {
    this.slow = slow;
  }

  acquire(ask: BulkheadAsk): BulkheadAnswer | Promise<BulkheadAnswer> {
    checkName(ask.name);
    if (ask.limit < 1) throw badLimit(ask.name, ask.limit);
    if (ask.weight < 1 || ask.weight > ask.limit) throw badWeight(ask.name, ask.weight, ask.limit);
    this.owners.push(ask.owner);
    return this.slow
      ? new Promise((resolve) => setTimeout(resolve)).then(() => this.#acquire(ask))
      : this.#acquire(ask);
  }

  #acquire(ask: BulkheadAsk): BulkheadAnswer | Promise<BulkheadAnswer> {
    let bulkhead = this.all.get(ask.name);
    if (bulkhead === undefined) this.all.set(ask.name, bulkhead = { limit: 0, active: 0, holders: 0, line: [] });
    bulkhead.limit = ask.limit;
    const { line } = bulkhead;
    const denied = (reason: BulkheadDenialReason, waitedMs: number): BulkheadAnswer => (
      { granted: false, reason, waitedMs, retryAfterMs: 7 }
    );
    if (ask.signal?.aborted) return denied("cancelled", 0);
    if (line.length === 0 && bulkhead.active + ask.weight <= bulkhead.limit) return this.#grant(bulkhead, ask, 0, 0);
    if (ask.maxWaitMs === 0) return denied("full", 0);
    if (line.length >= (ask.maxQueue ?? Infinity)) return denied("queue_full", 0);
    const position = line.length;
    return new Promise((resolve) => {
      const since = performance.now();
      const settle = (reason: BulkheadDenialReason | undefined) => {
        clearTimeout(timer);
        line.splice(line.indexOf(waiting), 1);
        const waited = performance.now() - since;
        resolve(reason === undefined ? this.#grant(bulkhead, ask, waited, position) : denied(reason, waited));
        if (reason !== undefined) this.#next(bulkhead);
      };
      const waiting: Waiting = { ask, since, settle };
      const timer = setTimeout(() => settle("timeout"), ask.maxWaitMs);
      ask.signal?.addEventListener("abort", () => line.includes(waiting) && settle("cancelled"));
      line.push(waiting);
    });
  }

  #grant(bulkhead: Bulkhead, ask: BulkheadAsk, waited: number, position: number): TinyGrant {
    bulkhead.active += ask.weight;
    bulkhead.holders++;
    const grant = new TinyGrant(this, ask, waited, position, ++this.#fence);
    this.grants.add(grant);
    return grant;
  }

  #next(bulkhead: Bulkhead): void {
    for (let first = bulkhead.line[0]; first !== undefined; first = bulkhead.line[0]) {
      if (bulkhead.active + first.ask.weight > bulkhead.limit) return;
      first.settle(undefined);
    }
  }

  giveBack(grant: TinyGrant): void {
    const bulkhead = this.all.get(grant.name)!;
    if (!this.grants.delete(grant)) return;
    bulkhead.active -= grant.weight;
    bulkhead.holders--;
    this.#next(bulkhead);
  }

  counts(name: string): BulkheadCounts | undefined {
    const bulkhead = this.all.get(checkName(name));
    if (bulkhead === undefined) return undefined;
    const { limit, active, holders, line } = bulkhead;
    return {
      limit,
      active,
      holders,
      queued: line.length,
      oldestWaitMs: line[0] ? performance.now() - line[0].since : 0,
    };
  }

  resize(name: string, limit: number): void {
    const bulkhead = this.all.get(name);
    if (bulkhead === undefined) return void this.all.set(name, { limit, active: 0, holders: 0, line: [] });
    bulkhead.limit = limit;
    this.#next(bulkhead);
  }

  close(): void {
    for (const { line } of this.all.values()) for (const waiting of [...line]) waiting.settle("draining");
  }

  /** Whether nobody holds or waits for anything. */
  get idle(): boolean {
    return this.grants.size === 0 &&
      [...this.all.values()].every(({ active, line }) => active === 0 && line.length === 0);
  }
}
