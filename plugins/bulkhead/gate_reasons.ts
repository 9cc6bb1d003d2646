import type { Refusal } from "../../core/contracts/gates.ts";
import type { BulkheadDenialReason } from "./store.ts";

/** What a gate's refusal is to who waits at a bulkhead. */
export const denialOf: Readonly<Record<Refusal, BulkheadDenialReason>> = {
  // After it got in line: the limit has shrunk below what it wants.
  full: "full",
  evicted: "queue_full",
  key: "full",
  class: "full",
  grace: "timeout",
  deadline: "timeout",
  predicted: "timeout",
  codel: "timeout",
  draining: "draining",
  cancelled: "cancelled",
};
