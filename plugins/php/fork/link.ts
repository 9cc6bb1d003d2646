/**
 * What forking needs of the native protocol: the connection of one child, past its hello.
 *
 * @module
 */
import type { CoreError } from "../../../core/error.ts";
import type { ReplySink } from "../reply_sink.ts";
import type { WorkerRequest } from "../worker/handle.ts";

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
