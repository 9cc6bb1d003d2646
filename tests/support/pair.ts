import type { ByteSocket } from "../../plugins/dbproxy/net/socket.ts";

/** Cuts what is written on one side into the chunks that arrive on the other. */
export type Chunking = (bytes: Uint8Array) => Uint8Array[];

export interface PairOptions {
  readonly chunking?: Chunking;
  readonly secure?: boolean;
}

/** Two connected sockets in memory. */
export function pair(_options: PairOptions = {}): [ByteSocket, ByteSocket] {
  throw new Error("not yet");
}
