import { CoreError } from "../../../core/error.ts";
import type { ByteSocket, SocketHandler } from "../net/socket.ts";
import { concat } from "./concat.ts";
import { frames, PacketReader } from "./frame.ts";

/** Longest packet of a handshake, in bytes: connection attributes may take 64 KiB. */
const longest = 131_072;

/**
 * The first packets of a connection, read one at a time. They alternate between the sides, so a promise for each costs
 * nothing that matters; commands are not read like this.
 */
export class Conversation implements SocketHandler {
  readonly socket: ByteSocket;
  /** Sequence number of the next packet, whoever sends it. */
  seq = 0;
  /** Called once when the peer leaves: for whoever waits for something else than its packets. */
  onLeave: (() => void) | undefined;
  #reader = this.#fresh();
  #unread: Uint8Array | undefined;
  #packet: Uint8Array | undefined;
  #waiting: { resolve(payload: Uint8Array): void; reject(error: unknown): void } | undefined;
  #failure: CoreError | undefined;

  constructor(socket: ByteSocket) {
    this.socket = socket;
    socket.handler = this;
  }

  /**
   * The next packet's payload.
   *
   * @throws CoreError `DB_CLOSED` when the peer leaves, `DB_PROTOCOL` or `DB_SEQUENCE` for what is no packet
   */
  read(): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      const unread = this.#unread;
      this.#unread = undefined;
      if (unread !== undefined) this.onData(unread);
      else if (this.#failure !== undefined) this.#fail(this.#failure);
    });
  }

  /** The peer has left, or what it sent made no sense: whoever takes the socket over will not be told. */
  get over(): boolean {
    return this.#failure !== undefined;
  }

  /** Sends packets in one write. */
  write(...payloads: readonly Uint8Array[]): void {
    if (payloads.length === 0) return;
    this.socket.write(frames(this.seq, payloads), true);
    this.seq = (this.seq + payloads.length) & 255;
  }

  /** Ends reading here: returns what has come behind the last packet. The next owner sets its own handler. */
  leave(): Uint8Array {
    const unread = this.#unread ?? new Uint8Array(0);
    this.#unread = undefined;
    return unread;
  }

  /** Fails whoever reads, now or later; for timeouts. */
  abort(error: CoreError): void {
    this.#fail(error);
    this.socket.destroy();
  }

  onData(chunk: Uint8Array): void {
    if (this.#waiting === undefined) {
      this.#unread = this.#unread === undefined ? chunk : concat([this.#unread, chunk]);
      return;
    }
    try {
      const rest = this.#reader.push(chunk);
      const payload = this.#packet;
      if (payload === undefined) return;
      this.#packet = undefined;
      this.#reader = this.#fresh();
      if (rest !== undefined && rest.byteLength > 0) this.#unread = rest;
      const waiting = this.#waiting;
      this.#waiting = undefined;
      waiting.resolve(payload);
    } catch (cause) {
      this.#fail(cause as CoreError);
    }
  }

  onDrain(): void {}

  onClose(error: Error | undefined): void {
    this.#fail(
      new CoreError("DB_CLOSED", `The connection was closed during its handshake${error ? `: ${error.message}` : ""}`, {
        cause: error,
      }),
    );
  }

  #fresh(): PacketReader {
    return new PacketReader(longest, (payload, seq) => {
      this.#packet = payload;
      this.seq = (seq + 1) & 255;
      return false;
    });
  }

  #fail(error: CoreError): void {
    this.#failure = error;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.reject(error);
    const left = this.onLeave;
    this.onLeave = undefined;
    left?.();
  }
}
