import type { Awaitable } from "../../core/plugin.ts";
import type { BulkheadCounts, BulkheadStore } from "./store.ts";

/** One who holds permits. Times in ms. */
export interface HolderView {
  readonly weight: number;
  readonly fence: number;
  readonly heldMs: number;
  /** Who was named as the owner when they were asked for. */
  readonly owner: object | undefined;
}

/** One who waits. */
export interface WaiterView {
  readonly weight: number;
  readonly waitedMs: number;
  readonly owner: object | undefined;
}

/** A bulkhead as it is now. */
export interface BulkheadView extends BulkheadCounts {
  readonly name: string;
  /** Those that this store knows of, looked at one by one as they are read: to be read at once. */
  readonly held: Iterable<HolderView>;
  /** In order of arrival. */
  readonly line: Iterable<WaiterView>;
}

/** A store that can tell who holds and who waits. */
export interface InspectableStore extends BulkheadStore {
  /** Every bulkhead that is used, or was lately; with a name, that one alone, if it is. */
  look(name?: string): Awaitable<Iterable<BulkheadView>>;
}

/** `all`, each as `view` has it, made as they are read: a line may be long, and most looks are at its length. */
export function* viewed<T, V>(all: Iterable<T>, view: (one: T) => V): Generator<V> {
  for (const one of all) yield view(one);
}

/** Whether a store can tell who holds and who waits. */
export function inspectable(store: BulkheadStore): store is InspectableStore {
  return typeof (store as Partial<InspectableStore>).look === "function";
}
