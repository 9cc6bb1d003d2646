import type { ByteSocket, Place } from "./socket.ts";

export interface ListenOptions {
  /** Of a unix socket; 0o660 when absent. */
  readonly mode?: number;
  readonly backlog?: number;
}

/** A bound listener. */
export interface Listening {
  /** With the port the system chose when 0 was asked for. */
  readonly place: Place;
  /** Stops accepting; connections that exist live on. */
  close(): Promise<void>;
}

/**
 * Listens. A stale unix socket is replaced, a live one is an error.
 *
 * @throws CoreError `ADDRESS_TAKEN`, `ADDRESS_DENIED`, `ADDRESS_UNKNOWN`, `ADDRESS_FAILED`
 */
export function listen(
  _place: Place,
  _options: ListenOptions,
  _onConnection: (socket: ByteSocket) => void,
): Promise<Listening> {
  throw new Error("not yet");
}
