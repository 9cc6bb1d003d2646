import { thenable } from "../../core/hooks.ts";
import { inspectable } from "./inspect.ts";
import type { Limits } from "./limits.ts";
import { baseName } from "./name.ts";
import type { BulkheadCounts, BulkheadStore } from "./store.ts";

/** For how long one look serves, in ms: a scrape reads several gauges of it. */
const fresh = 50;

/**
 * What gauges show of a store: each bulkhead's counts, its keys together, the configured ones always among them. A store that
 * cannot tell within the call is asked at each look, and what it said last is shown.
 */
export class Figures {
  readonly #store: BulkheadStore;
  readonly #limits: Limits;
  readonly #now: () => number;
  #last = new Map<string, BulkheadCounts>();
  #at = -Infinity;

  constructor(store: BulkheadStore, limits: Limits, now: () => number) {
    this.#store = store;
    this.#limits = limits;
    this.#now = now;
  }

  read(): Iterable<readonly [name: string, BulkheadCounts]> {
    const now = this.#now();
    if (now - this.#at > fresh) {
      this.#at = now;
      this.#look();
    }
    return this.#last;
  }

  #look(): void {
    const seen = new Map<string, BulkheadCounts>();
    const keep = () => {
      this.#last = seen;
    };
    const take = (views: Iterable<BulkheadCounts & { readonly name: string }>): void | Promise<unknown> => {
      for (const view of views) seen.set(baseName(view.name), sum(seen.get(baseName(view.name)), view));
      // Those that were in no view.
      return this.#configured(seen);
    };
    const views = inspectable(this.#store) ? this.#store.look() : [];
    const taken = thenable(views)
      ? Promise.resolve(views).then(take)
      : take(views as Exclude<typeof views, Promise<unknown>>);
    // What cannot be reached now keeps its last numbers; the counters tell of it.
    if (thenable(taken)) void Promise.resolve(taken).then(keep, () => {});
    else keep();
  }

  /** Adds the configured ones that are not in `seen`. */
  #configured(seen: Map<string, BulkheadCounts>): void | Promise<unknown> {
    const later: Promise<void>[] = [];
    for (const [name] of this.#limits) {
      if (seen.has(name)) continue;
      const set = (known: BulkheadCounts | undefined) => {
        if (known !== undefined) seen.set(name, known);
      };
      const counts = this.#store.counts(name);
      if (thenable(counts)) later.push(Promise.resolve(counts).then(set));
      else set(counts as BulkheadCounts | undefined);
    }
    if (later.length > 0) return Promise.all(later);
  }
}

function sum(a: BulkheadCounts | undefined, b: BulkheadCounts): BulkheadCounts {
  const { limit, active, holders, queued, oldestWaitMs } = b;
  if (a === undefined) return { limit, active, holders, queued, oldestWaitMs };
  return {
    limit: Math.max(a.limit, limit),
    active: a.active + active,
    holders: a.holders + holders,
    queued: a.queued + queued,
    oldestWaitMs: Math.max(a.oldestWaitMs, oldestWaitMs),
  };
}
