import type { CoreError } from "../../../core/error.ts";
import type { BulkheadStore } from "../store.ts";
import type { KnownExecutions, OwnerOf } from "./peer_process.ts";
import type { Session } from "./session.ts";

/** What all connections of a server share. */
export interface SessionHost {
  readonly store: BulkheadStore;
  readonly executions: KnownExecutions | undefined;
  readonly ownerOf: OwnerOf | undefined;
  /** How long (ms) a peer may take to say its HELLO. */
  readonly helloMs: number;
  /** Most asks of one connection that wait or hold permits. */
  readonly maxOpen: number;
  /** Bytes of answers that a peer may leave unread. */
  readonly maxUnread: number;
  /** The peer broke the rules, or an answer could not be had. */
  onProblem(error: CoreError, pid: number | undefined): void;
  onClosed(session: Session): void;
}
