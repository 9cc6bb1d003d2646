import type { Refusal } from "../../core/contracts/gates.ts";
import type { Owner } from "./known_owners.ts";
import type { MemoryGrant } from "./memory_grant.ts";
import type { MemoryWait } from "./memory_wait.ts";
import type { BulkheadAnswer } from "./store.ts";

/** Someone who holds and waits here. */
export type MemoryOwner = Owner<MemoryGrant, MemoryWait>;

/** What a permit or a place in line asks of its store. */
export interface Keeper {
  /** Takes the permits back; `lost`: without their holder's doing. */
  end(grant: MemoryGrant, lost: boolean): void;
  /** The gate has let `wait` in. */
  admit(wait: MemoryWait, waitedMs: number): BulkheadAnswer;
  /** The gate has turned `wait` away, or its signal has. */
  turnAway(wait: MemoryWait, reason: Refusal, waitedMs: number): BulkheadAnswer;
  /** The wait is over because its signal says so. */
  cancel(wait: MemoryWait): void;
}
