import type { CoreError } from "../../../core/error.ts";
import type { LogLine } from "./log_line.ts";

/** Told by a conversation. Synchronous; none may throw. */
export interface LinkEvents {
  /** The answer is whole: told to its sink just before, unless the request was cancelled. */
  onAnswered?(): void;
  /** It can take a request. Not told for the hello. */
  onReady?(): void;
  /** It will end after what runs. */
  onStopAsked?(): void;
  /** What it sent makes no sense. Nothing follows but `onClosed`. */
  onBroken(error: CoreError): void;
  /** A message for the log; told by `onLine` when absent. */
  onLog?(line: LogLine): void;
  onLine(text: string): void;
  /**
   * The connection is closed, and everything before has been told. The last call; none after `destroy`. `expected`: the process
   * was asked to end, or had said that it would, and owed no answer.
   */
  onClosed(expected: boolean): void;
}

/**
 * `idle`: it can be sent a request. `running`: its answer is not whole. `answered`: it is, and the process has not said yet
 * that it is free. `closed`: the connection is.
 */
export type LinkState = "idle" | "running" | "answered" | "closed";
