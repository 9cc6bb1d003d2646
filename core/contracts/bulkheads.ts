import { type Awaitable, type Token, token } from "../plugin.ts";

/**
 * Why a bulkhead gave no permit: all are out and there was to be no wait (`full`), the line is full, none came free in time, the
 * caller's signal ended the wait, those who hold it wait for what the caller holds (`deadlock`), the bulkhead closes, or its store
 * cannot be reached.
 */
export type BulkheadDenialReason =
  | "full"
  | "queue_full"
  | "timeout"
  | "cancelled"
  | "deadlock"
  | "draining"
  | "unavailable";

/** What a bulkhead does. Times are in ms. */
export interface BulkheadOptions {
  /** Calls there may be at a time; the limit of `[bulkhead.limits.NAME]` when absent, and never more than that. */
  readonly maxConcurrent?: number;
  /** How long a holder that is heard of no more keeps its permits. Those that are known to live are renewed by the host. */
  readonly lease?: number;
  /** Longest wait for a permit; 0: now or never. */
  readonly maxWait?: number;
  /** Most callers in line; no bound when absent. */
  readonly maxQueue?: number;
  /** Told of each permit given. When it throws, the permit goes back and the caller gets the error. */
  readonly onAccepted?: (name: string, waitedMs: number, permit: BulkheadPermit) => void;
  /** Told of each caller without a permit, before that caller gets the error. */
  readonly onRejected?: (name: string, waitedMs: number, reason: BulkheadDenialReason) => void;
  /** Told of permits whose lease passed while they were held. */
  readonly onLost?: (name: string, permit: BulkheadPermit) => void;
}

/** What a bulkhead for each key does. */
export interface KeyedBulkheadOptions extends BulkheadOptions {
  /** Keys that may be in use at a time, each with permits of its own; 10,000 when absent. Those beyond share a few bulkheads. */
  readonly maxKeys?: number;
}

/** How to wait at a bulkhead. */
export interface BulkheadWait {
  /** Permits wanted; 1 when absent. */
  readonly weight?: number;
  /** In ms, in place of the bulkhead's own. */
  readonly maxWait?: number;
  /**
   * Who asks: something that does one thing at a time, such as the request at hand. Owners that wait for each other in a circle are
   * told so (`deadlock`) where they would wait for ever.
   */
  readonly owner?: object;
  /** Ends the wait. */
  readonly signal?: AbortSignal;
}

/** Permits that are held. Give them back with `release`, or let `using` or `await using` do it. */
export interface BulkheadPermit extends Disposable, AsyncDisposable {
  readonly name: string;
  readonly weight: number;
  /** How long it waited, in ms. */
  readonly waitedMs: number;
  /** How many stood before it when it came. */
  readonly position: number;
  /** Greater than that of every earlier permit of this bulkhead: what a resource can tell an outdated holder by. */
  readonly fence: number;
  /** Whether the permits are somebody else's by now. */
  readonly lost: boolean;
  /** Aborts when the permits are lost: give it to what the permits are for. */
  readonly signal: AbortSignal;
  /** Runs `listener` once if the permits are lost. Returns what takes it back. */
  onLost(listener: () => void): () => void;
  /** The second time nothing happens. False, or a promise of it, when the permits had been lost before. */
  release(): Awaitable<boolean>;
}

/** A named cap on simultaneous calls. */
export interface Bulkhead {
  readonly name: string;
  /**
   * Waits in line for permits.
   *
   * @throws CoreError `BULKHEAD_` and the reason in capitals (`BULKHEAD_TIMEOUT`), with `reason`, `waitedMs` and `retryAfterMs`;
   *     `BULKHEAD_WEIGHT` for more than there are
   */
  acquire(wait?: BulkheadWait): Promise<BulkheadPermit>;
  /** Takes permits now; undefined when there are none. */
  tryAcquire(wait?: Omit<BulkheadWait, "maxWait">): Promise<BulkheadPermit | undefined>;
  /** Runs `work` with permits and gives them back when it has ended, however it ended. */
  call<T>(work: (permit: BulkheadPermit) => Awaitable<T>, wait?: BulkheadWait): Promise<T>;
  /** Permits that nobody holds. */
  availableSlots(): Promise<number>;
  /** Permits out. */
  activeCount(): Promise<number>;
}

/** A bulkhead for each key: a tenant, an address, a host. */
export interface KeyedBulkhead {
  readonly name: string;
  /** That of one key. It may be kept, or asked for again. */
  for(key: string): Bulkhead;
}

/** Where bulkheads come from. */
export interface Bulkheads {
  /**
   * A bulkhead. All that have its name share its permits; options are the caller's own.
   *
   * @throws CoreError `BULKHEAD_UNKNOWN` without a limit, `BULKHEAD_NAME`, `BULKHEAD_LIMIT`, `BULKHEAD_TIME`
   *
   * @example
   * ```ts
   * const legacy = ctx.use(Bulkheads).get("legacy-api", { maxConcurrent: 5, maxWait: 200 });
   * const answer = await legacy.call(({ signal }) => fetch(url, { signal }));
   * ```
   */
  get(name: string, options?: BulkheadOptions): Bulkhead;
  /** A bulkhead for each key, all with the same limit. */
  keyed(name: string, options?: KeyedBulkheadOptions): KeyedBulkhead;
}

/** The service of the bulkhead plugin. */
export const Bulkheads: Token<Bulkheads> = token("bulkheads@1");
