import { type Token, token } from "../plugin.ts";

/**
 * Why a gate did not let someone in: the line is full, the wait was too long, its deadline passed, the gate drains, it left by
 * itself; it would have waited in vain (`predicted`), its class is turned away before it queues (`class`) or
 * gave its place in a full line to a higher one (`evicted`), its key has its share (`key`), or the line stands too long
 * (`codel`).
 */
export type Refusal =
  | "full"
  | "grace"
  | "deadline"
  | "draining"
  | "cancelled"
  | "predicted"
  | "class"
  | "evicted"
  | "key"
  | "codel";

/** How much it matters that someone is let in, most first: the classes of Google's SRE book, chapter "Handling Overload". */
export type Criticality = "critical_plus" | "critical" | "sheddable_plus" | "sheddable";

/**
 * Someone who waits at a gate. The gate keeps its place in a node that it uses again, so waiting allocates nothing more: give it to
 * `enter` once, and use a new one for the next wait.
 */
export interface Waiter {
  /** Permits wanted; 1 when absent. */
  readonly weight?: number;
  /** Latest moment to be granted, in ms on the gate's clock; no limit but the gate's own grace when absent. */
  readonly deadline?: number;
  /** `critical` when absent. Of account only where the gate has classes. */
  readonly criticality?: Criticality;
  /** Whose share of its class this takes (an address, a tenant); all without one are one. Of account only where the gate has keys. */
  readonly key?: string;
  /** Called once, when the permits are this waiter's. It must not throw; it may call the gate. */
  onGrant(waitedMs: number): void;
  /** Called once, when the wait ended without permits. */
  onRefuse(reason: Refusal, waitedMs: number): void;
}

/** A fair gate: a number of permits, and one line of waiters in order of arrival. */
export interface Gate {
  readonly name: string;
  readonly limit: number;
  /** Permits out. */
  readonly used: number;
  /** Waiters in line. */
  readonly queued: number;
  /** Takes permits now, or returns false; never passes a waiter. */
  tryEnter(weight?: number): boolean;
  /**
   * Takes permits now (`granted`: no callback follows), gets in line (`queued`: one of the callbacks follows), or is
   * refused (no callback follows).
   */
  enter(waiter: Waiter): "granted" | "queued" | Refusal;
  /** Leaves the line; true when the waiter was in it. No callback follows. */
  cancel(waiter: Waiter): boolean;
  /**
   * Gives permits back, a number of them or those of a waiter that was let in (which does nothing the second time); whoever is next has
   * them before this returns. The permits of a waiter with a key come back by the waiter where the gate has keys.
   */
  leave(held?: number | Waiter): void;
  /** Changes the number of permits; shrinking takes effect as permits come back. */
  resize(limit: number): void;
  /** Seconds a refused client should stay away, from the measured drain rate; at least 1. */
  retryAfter(): number;
}

/** How a gate differs from what `[admission]` says. */
export interface GateTerms {
  /** Most waiters in line. */
  readonly maxQueue?: number;
  /** Longest wait in ms. */
  readonly grace?: number;
  /**
   * False for what running requests need to end (a database): it stays open when the server drains, and whoever opened it
   * sees to its end. True when absent.
   */
  readonly drains?: boolean;
  /**
   * True for one line in order of arrival whatever `[admission]` says, which whoever opened it measures himself: gates that come and go
   * would fill the metrics. False when absent.
   */
  readonly strict?: boolean;
}

/**
 * Where gates are made and found. Whoever executes work opens a gate under the name of its lane.
 *
 * @example
 * ```ts
 * const gate = ctx.use(Gates).open("thumbnails", 4);
 * // in onResolve: requests of this lane then wait at that gate, in onAdmit
 * return { lane: "thumbnails", run: (x) => thumbnail(x.path) };
 * ```
 */
export interface Gates {
  /** Makes the gate, or resizes the one that has this name. */
  open(name: string, limit: number, terms?: GateTerms): Gate;
  /** The gate of that name, if one is open. */
  find(name: string): Gate | undefined;
  /** Forgets the gate and refuses who waits at it; permits that are out may still be given back. For gates that come and go. */
  forget(name: string): void;
}

/** The service of the admission plugin. */
export const Gates: Token<Gates> = token("gates@1");
