import type { Clock } from "./clock.ts";

/** Settings of a {@linkcode FairGate}. */
export interface GateOptions {
  readonly name?: string;
  /** Permits, at least 1. */
  readonly limit: number;
  /** Most waiters in line; no bound when absent. */
  readonly maxQueue?: number;
  /** Longest wait in ms; 0 refuses whoever cannot be let in at once. No bound when absent. */
  readonly grace?: number;
  readonly clock?: Clock;
  /** In [0, 1); spreads `retryAfter`. */
  readonly random?: () => number;
  /** Told of each overtake; a grant past an older waiter that would have fitted. */
  readonly onOvertake?: () => void;
  /** Told what a waiter's callback threw; the line goes on. Thrown from a microtask when absent. */
  readonly onError?: (error: unknown) => void;
}
