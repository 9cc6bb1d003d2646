import { CoreError } from "../../../core/error.ts";
import type { ByteSocket, SocketHandler } from "../net/socket.ts";
import { Inbox } from "./inbox.ts";
import { type CompressionMethod, deflate, inflate } from "./compression.ts";

export { zstdSupported } from "./compression.ts";

export interface CompressedSocket extends ByteSocket {
  /**
   * A new command begins. Server: call it whenever the reply to a command is complete (with `CommandReader.next()`): a
   * client's packet that begins a new command is held back until then, as its numbers start anew. Client: call it before
   * a command is written.
   */
  restart(): void;
}

const headerLength = 7;
/** Payloads shorter than this are not compressed, as the servers do. */
const minCompressed = 50;
const maxPayload = 0xffffff;
/** Bytes held back behind a reply before the reading is paused. */
const heldLimit = 256 * 1024;

/**
 * The compressed protocol as a socket: `length:u24 seq:u8 inflated:u24`, and a piece of the stream of packets, compressed
 * or (`inflated` 0) as it is. What a packet inflates to is bounded by what it announced, at most 16 MiB, and nothing is
 * inflated while the socket is paused.
 *
 * A peer that breaks the protocol gets its connection destroyed, and `onClose` a CoreError `DB_PROTOCOL` or `DB_SEQUENCE`.
 *
 * @param level of compression; undefined: the method's own default
 */
export function compressed(
  socket: ByteSocket,
  method: CompressionMethod,
  level?: number,
  role: "server" | "client" = "server",
): CompressedSocket {
  return new Compressed(socket, method, level, role === "server");
}

class Compressed implements CompressedSocket, SocketHandler {
  handler: SocketHandler;
  readonly #socket: ByteSocket;
  readonly #method: CompressionMethod;
  readonly #level: number | undefined;
  readonly #server: boolean;
  /** Received and not yet unpacked. */
  readonly #inbox = new Inbox();
  /** Number of the next packet, whoever sends it. */
  #seq = 0;
  /** Server: a packet that begins a new command may pass. */
  #idle = true;
  #paused = false;
  /** Reading is paused by ourselves: too much is held back. */
  #stalled = false;
  #unpacking = false;
  #closed = false;
  /** Nothing is handed on any more. */
  #stopped = false;

  constructor(socket: ByteSocket, method: CompressionMethod, level: number | undefined, server: boolean) {
    this.#socket = socket;
    this.#method = method;
    this.#level = level;
    this.#server = server;
    this.handler = socket.handler;
    socket.handler = this;
  }

  get remoteAddress(): string {
    return this.#socket.remoteAddress;
  }

  get encrypted(): boolean {
    return this.#socket.encrypted;
  }

  get secure(): boolean {
    return this.#socket.secure;
  }

  get pending(): number {
    return this.#socket.pending;
  }

  peerPid(candidates: Iterable<number>): number | undefined {
    return this.#socket.peerPid?.(candidates);
  }

  flushed(): boolean {
    return this.#socket.flushed();
  }

  write(bytes: Uint8Array, now = false): boolean {
    let more = true;
    for (let at = 0; at < bytes.length; at += maxPayload) {
      const last = at + maxPayload >= bytes.length;
      more = this.#socket.write(this.#pack(bytes.subarray(at, at + maxPayload)), now && last);
    }
    return more;
  }

  pause(): void {
    this.#paused = true;
    this.#socket.pause();
  }

  resume(): void {
    this.#paused = false;
    this.#unpack();
    if (!this.#paused && !this.#stalled) this.#socket.resume();
  }

  restart(): void {
    if (!this.#server) {
      this.#seq = 0;
      return;
    }
    this.#idle = true;
    this.#unpack();
    if (!this.#stalled || (this.#inbox.length > heldLimit && !this.#idle)) return;
    this.#stalled = false;
    if (!this.#paused) this.#socket.resume();
  }

  end(): void {
    this.#socket.end();
  }

  destroy(): void {
    this.#stopped = true;
    this.#socket.destroy();
  }

  onData(chunk: Uint8Array): void {
    if (this.#stopped) return;
    this.#inbox.push(chunk);
    this.#unpack();
  }

  onDrain(): void {
    this.handler.onDrain();
  }

  onClose(error: Error | undefined): void {
    if (this.#closed) return;
    this.#closed = this.#stopped = true;
    this.handler.onClose(error);
  }

  #pack(piece: Uint8Array): Uint8Array {
    const small = piece.length < minCompressed ? piece : deflate(this.#method, piece, this.#level);
    const raw = small.length >= piece.length;
    const body = raw ? piece : small;
    const out = new Uint8Array(headerLength + body.length);
    putU24(out, 0, body.length);
    out[3] = this.#seq;
    putU24(out, 4, raw ? 0 : piece.length);
    out.set(body, headerLength);
    this.#seq = this.#seq + 1 & 0xff;
    return out;
  }

  /** Hands on the whole packets that are there, unless told to wait. */
  #unpack(): void {
    if (this.#unpacking) return;
    this.#unpacking = true;
    try {
      while (!this.#paused && !this.#stopped && this.#unpackOne());
    } finally {
      this.#unpacking = false;
    }
    this.#inbox.settle();
  }

  #unpackOne(): boolean {
    const inbox = this.#inbox;
    if (inbox.length < headerLength) return false;
    const length = inbox.u24(0), seq = inbox.u8(3), inflated = inbox.u24(4);
    if (seq !== this.#seq) {
      if (!this.#server || seq !== 0) {
        return this.#fail(
          new CoreError("DB_SEQUENCE", `Compressed packet number ${seq} came where ${this.#seq} was due`),
        );
      }
      if (!this.#idle) return this.#stall();
    }
    if (inbox.length < headerLength + length) return false;
    const body = inbox.take(headerLength + length).subarray(headerLength);
    let payload: Uint8Array;
    try {
      payload = inflated === 0 ? body : inflate(this.#method, body, inflated);
    } catch (error) {
      return this.#fail(error);
    }
    this.#seq = seq + 1 & 0xff;
    this.#idle = false;
    if (payload.length > 0) this.handler.onData(payload);
    return true;
  }

  #stall(): false {
    if (this.#inbox.length > heldLimit && !this.#stalled) {
      this.#stalled = true;
      this.#socket.pause();
    }
    return false;
  }

  #fail(error: unknown): false {
    if (!(error instanceof CoreError)) throw error;
    this.#closed = this.#stopped = true;
    this.#inbox.clear();
    this.#socket.destroy();
    this.handler.onClose(error);
    return false;
  }
}

function putU24(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value;
  bytes[at + 1] = value >>> 8;
  bytes[at + 2] = value >>> 16;
}
