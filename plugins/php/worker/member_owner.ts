import type { WorkerExit } from "./handle.ts";
import type { LeaseOwner } from "./lease.ts";
import type { Member } from "./member.ts";
import type { WorkerRestart } from "./restarts.ts";

/**
 * `booting`: until it asks for its first request. `idle`: it can be lent. `busy`: lent, or its lease is over and it is not
 * ready yet. `stopping`: asked to end. `killed`: told to. `gone`: the process is no more.
 */
export type MemberState = "booting" | "idle" | "busy" | "stopping" | "killed" | "gone";

/** What the pool hears from its workers. */
export interface MemberOwner extends LeaseOwner {
  /** It has booted: it can be lent. */
  onBooted(member: Member): void;
  /** It is free again, its lease over. */
  onFreed(member: Member): void;
  /** It is in service no more. Only for the books: its state is between two others. */
  onLeft(member: Member, reason: WorkerRestart | undefined): void;
  /** Something changed that the pool may have to act on. */
  onChange(): void;
  /** Whether the pool can do without it although its successor is not ready. */
  canSpare(member: Member): boolean;
  /** Its script works. */
  onProof(member: Member): void;
  onGone(member: Member, exit: WorkerExit | undefined): void;
  onLine(member: Member, text: string): void;
  /** Call {@linkcode Member.ring} at this time or before. */
  wake(at: number): void;
}
