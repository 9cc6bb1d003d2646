/**
 * The contract between a bulkhead and whatever keeps its permits: one process's memory, the server behind its socket, or Redis.
 * Every store passes one conformance suite (`tests/bulkhead/conformance.ts`).
 *
 * @module
 */
import type { BulkheadDenialReason } from "../../core/contracts/bulkheads.ts";
import type { Awaitable } from "../../core/plugin.ts";

export type { BulkheadDenialReason } from "../../core/contracts/bulkheads.ts";

/** What is asked of a store. */
export interface BulkheadAsk {
  /** The bulkhead: see `checkName`. */
  readonly name: string;
  /** Permits of the bulkhead. Where callers do not agree, the limit that the host has configured counts, else the latest. */
  readonly limit: number;
  /** Permits wanted. More than `limit` is an error (`BULKHEAD_WEIGHT`), never a wait. */
  readonly weight: number;
  /** How long (ms) a holder that is heard of no more keeps its permits. Hosts renew the leases of those that they know to live. */
  readonly leaseMs: number;
  /** Longest wait in ms; 0: now or never. */
  readonly maxWaitMs: number;
  /** Most waiters in line; no bound when absent. */
  readonly maxQueue?: number;
  /**
   * Who asks, an execution or a connection: permits of one owner are released together, and owners that wait for each other in a
   * circle are told so. Absent: nobody that could be in a circle.
   */
  readonly owner?: object;
  /** Ends the wait. Looked at also after the grant: who has left gets no permit. */
  readonly signal?: AbortSignal;
}

/** The answer without a permit. */
export interface BulkheadDenial {
  readonly granted: false;
  readonly reason: BulkheadDenialReason;
  /** How long it waited, in ms. */
  readonly waitedMs: number;
  /** Milliseconds after which it may be worth to ask again; 0 when nothing is known. */
  readonly retryAfterMs: number;
  /** What went wrong, for `unavailable`. */
  readonly cause?: unknown;
}

/** Permits that are held. */
export interface BulkheadGrant {
  readonly granted: true;
  readonly name: string;
  readonly weight: number;
  /** How long it waited, in ms. */
  readonly waitedMs: number;
  /** How many stood before it when it came; 0 when it did not wait. */
  readonly position: number;
  /**
   * The fencing token: greater than that of every earlier grant of this bulkhead, below 2^53. A resource that remembers the
   * greatest it has seen can refuse a holder whose lease has passed (Kleppmann, "How to do distributed locking", 2016).
   */
  readonly fence: number;
  /** Whether the permits are somebody else's by now. */
  readonly lost: boolean;
  /** Runs `listener` once if the permits are lost; at once when they are. Returns what takes it back. */
  onLost(listener: () => void): () => void;
  /** Gives the permits back; the second time nothing happens. Resolves to false when they had been lost before. */
  release(): Awaitable<boolean>;
}

/** What a store answers to an ask: a grant or a denial, told apart by `granted`. */
export type BulkheadAnswer = BulkheadGrant | BulkheadDenial;

/** What a bulkhead looks like now. Reading it changes nothing. */
export interface BulkheadCounts {
  readonly limit: number;
  /** Permits out. */
  readonly active: number;
  /** Who holds them: fewer than `active` when some hold several. */
  readonly holders: number;
  /** Waiters in line. */
  readonly queued: number;
  /** How long the first in line has waited, in ms; 0 when nobody waits. */
  readonly oldestWaitMs: number;
}

/** Events of a store, for metrics. */
export interface BulkheadEvents {
  /** A lease ended while its holder had not given the permits back. */
  lost?(name: string): void;
  /** A grant passed somebody who had come before. Must never be. */
  overtaken?(name: string): void;
}

/** Keeps permits. */
export interface BulkheadStore {
  /** `memory`, `local` or `redis`: a label of metrics. */
  readonly kind: string;
  /**
   * Takes permits, within the call where that can be, or waits in line. What is wrong with the question is thrown; that there is no
   * permit is an answer.
   *
   * @throws CoreError `BULKHEAD_NAME`, `BULKHEAD_WEIGHT`, `BULKHEAD_LIMIT`
   */
  acquire(ask: BulkheadAsk): Awaitable<BulkheadAnswer>;
  /** Undefined for a bulkhead that nobody has used or configured. */
  counts(name: string): Awaitable<BulkheadCounts | undefined>;
  /** Changes a limit; shrinking takes effect as permits come back. */
  resize(name: string, limit: number): Awaitable<void>;
  /** Refuses who waits and who comes. Permits that are out may still be given back. */
  close(): Awaitable<void>;
}
