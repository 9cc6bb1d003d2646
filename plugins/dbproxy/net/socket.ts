/**
 * One connection as bytes: TCP, unix or TLS, on either runtime. Everything above works on this, so that tests can use a
 * pair in memory.
 */
export interface ByteSocket {
  /** Peer address; empty for a unix socket. */
  readonly remoteAddress: string;
  /** TLS. */
  readonly encrypted: boolean;
  /** TLS, a unix socket, or a connection within one process: a secret may be sent as it is. */
  readonly secure: boolean;
  /**
   * The process of this machine at the other end, when it can be told; over TCP only if it is one of `candidates`. It may
   * take milliseconds, and never throws.
   */
  peerPid?(candidates: Iterable<number>): number | undefined;
  /** Whoever listens now; may be replaced at any time, for instance when the handshake is done. */
  handler: SocketHandler;
  /**
   * Queues bytes; false when so much waits that the writer should pause until `onDrain`. The bytes must not change any more.
   *
   * @param now nothing follows in this turn: with what waits they are given to the system before this returns
   */
  write(bytes: Uint8Array, now?: boolean): boolean;
  /** Bytes written and not yet taken by the system. */
  readonly pending: number;
  /** Whether nothing waits. When something does, `onDrain` follows as soon as it is gone, as it does after a `write` that returned false. */
  flushed(): boolean;
  /** Stops reading; what was read already may still come. */
  pause(): void;
  resume(): void;
  /** Sends what waits, then FIN. */
  end(): void;
  /** Closes at once. `onClose` follows, once. */
  destroy(): void;
}

export interface SocketHandler {
  /** A chunk that is the handler's own: it may keep it and change it. */
  onData(chunk: Uint8Array): void;
  onDrain(): void;
  /** Once: the peer closed, or the connection failed. */
  onClose(error: Error | undefined): void;
}

/** Where a server listens or a client connects. */
export type Place =
  | { readonly kind: "tcp"; readonly host: string; readonly port: number }
  | { readonly kind: "unix"; readonly path: string };
