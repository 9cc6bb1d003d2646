import type { Gates } from "../../core/contracts/gates.ts";
import type { Clock } from "../../core/clock.ts";
import type { Limits } from "./limits.ts";
import type { BulkheadEvents } from "./store.ts";

/** What a memory store is made of. */
export interface MemoryStoreOptions {
  /** Where it opens a gate a bulkhead, named `bulkhead:NAME`. */
  readonly gates: Gates;
  /** The host's own limits: callers may ask for less, never for more. */
  readonly limits?: Limits;
  readonly events?: BulkheadEvents;
  /**
   * Which owners can vanish without a word. Their permits have leases, and whoever hosts them calls `heard`. None when absent:
   * what runs in this process ends by itself, or with the process.
   */
  readonly canVanish?: (owner: object) => boolean;
  /** Told what a listener threw; the store goes on. Thrown from a microtask when absent. */
  readonly onError?: (error: unknown) => void;
  /** The clock of the gates. */
  readonly clock?: Clock;
  /** Bulkheads that nobody uses and that are remembered all the same; 1000 when absent. */
  readonly maxIdle?: number;
  /** Where fences start; from the wall clock when absent, so that they rise across restarts. */
  readonly firstFence?: number;
}
