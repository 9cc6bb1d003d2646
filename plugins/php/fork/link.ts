/**
 * What forking needs of the native protocol; the door of `native/door.ts` has all of it.
 *
 * @module
 */
import type { CoreError } from "../../../core/error.ts";
import type { ReplySink } from "../reply_sink.ts";
import type { WorkerRequest } from "../worker/handle.ts";

/** Where the processes connect. */
export interface Door {
  /** Path of its unix socket. */
  readonly path: string;
  /**
   * Awaits the hello of one process. The connection is refused when `onHello` neither takes it as a parent's nor as a child's.
   *
   * @returns ends the waiting: a hello with this token is refused from now on
   */
  expect(token: string, onHello: (arrival: Arrival) => void): () => void;
}

/** A process that has said its hello. */
export interface Arrival {
  readonly pid: number;
  readonly role: string | undefined;
  /** To be called before `onHello` returns. */
  asParent(events: ParentLinkEvents): ParentLink;
  /** To be called before `onHello` returns. */
  asChild(events: LinkEvents): Link;
}

export interface ParentLink {
  write(type: number, payload: Uint8Array): void;
  destroy(): void;
}

export interface ParentLinkEvents {
  onFrame(type: number, payload: Uint8Array): void;
  onClosed(): void;
}

/** The connection of a child. */
export interface Link {
  /** As `Worker.send`. */
  send(request: WorkerRequest, sink: ReplySink): void;
  pause(): void;
  resume(): void;
  cancel(): void;
  /** Asks the process to end once idle. */
  stop(): void;
  /** Closes the connection; its events are over. */
  destroy(): void;
}

/** Synchronous; none may throw. */
export interface LinkEvents {
  /** The protocol was broken. Nothing follows but `onClosed`. */
  onBroken(error: CoreError): void;
  onLine(text: string): void;
  /** The answer is whole: told to its sink just before. */
  onAnswered(): void;
  /** The process has closed the connection, and everything before has been read. The last call. */
  onClosed(): void;
}
