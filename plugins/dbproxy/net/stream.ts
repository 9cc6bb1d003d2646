import { Duplex } from "node:stream";
import type { ByteSocket } from "./socket.ts";

/** A socket as a stream of Node's, for TLS on top of it. Takes the socket over. */
export class SocketStream extends Duplex {
  readonly #socket: ByteSocket;
  #written: (() => void) | undefined;
  /** Called when some of what waited has gone. */
  onGone: () => void = () => {};

  constructor(socket: ByteSocket, leftover: Uint8Array) {
    super({ allowHalfOpen: false, emitClose: true });
    this.#socket = socket;
    if (leftover.length > 0) this.push(leftover);
    socket.handler = {
      onData: (chunk) => {
        if (!this.push(chunk)) socket.pause();
      },
      onDrain: () => {
        const written = this.#written;
        this.#written = undefined;
        written?.();
        this.onGone();
      },
      onClose: (error) => {
        if (error !== undefined) this.destroy(error);
        else this.push(null);
      },
    };
  }

  /** Bytes that wait in the stream and in the socket. */
  get backlog(): number {
    return this.writableLength + this.#socket.pending;
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(chunk: Uint8Array, _encoding: string, written: () => void): void {
    if (!this.#socket.write(chunk)) this.#written = written;
    else {
      written();
      // Else nobody would tell when the last of it is gone.
      this.#socket.flushed();
    }
  }

  override _final(done: () => void): void {
    this.#socket.end();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }
}
