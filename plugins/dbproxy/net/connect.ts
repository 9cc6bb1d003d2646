import type { ByteSocket, Place } from "./socket.ts";

/** Times in ms. */
export interface ConnectOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /** Idle time after which the system probes the peer; 60,000 when absent. */
  readonly keepAliveMs?: number;
}

/**
 * Connects. A name is resolved anew each time. Nothing is lost before a handler is set: it is delivered then.
 *
 * @throws CoreError `DB_CONNECT` with the place in its text and the reason as its cause
 */
export function connect(_place: Place, _options: ConnectOptions): Promise<ByteSocket> {
  throw new Error("not yet");
}
