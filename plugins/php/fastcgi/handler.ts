import type { CoreError } from "../../../core/error.ts";

/**
 * How far a failed request got.
 *
 * - `unsent`: not a byte of it was written. Sending it again is always safe.
 * - `untouched`: it was written on a connection that had served before, which was lost before a byte of the response came.
 *   The child may have died while it was idle, or while it ran the script: sending the request again is safe when its
 *   method is, and its body is still at hand.
 * - `touched`: a byte of the response had come, the child was new, or the request failed on this side. It must not be sent
 *   again.
 */
export type Progress = "unsent" | "untouched" | "touched";

/**
 * Receives one response. The calls are synchronous, and some may come before `send` returns. Bytes are views of what the
 * socket gave; they are not reused. An error thrown by `onStdout` or `onStderr` fails the request with it.
 */
export interface FcgiHandler {
  onStdout(bytes: Uint8Array): void;
  /** What PHP logs: for the server's log, never for the client. */
  onStderr(bytes: Uint8Array): void;
  /** The response is whole. PHP says appStatus 0 even for a fatal error; other FastCGI servers may not. */
  onEnd(appStatus: number): void;
  /** The request has failed; no call follows. */
  onFail(error: CoreError, progress: Progress): void;
}

/** Told once when a connection can be used no more, before the handler of its last request hears of it. */
export interface ConnectionOwner {
  /**
   * `running` is true when the child may still be at work on a request that failed here: its answer was not FastCGI, its
   * handler threw, or its body broke off. Kill it before this returns: afterwards the socket is closed, and the
   * child would take that for the end of the body and run the script on half of it.
   */
  onDown(error: CoreError, running: boolean): void;
}
