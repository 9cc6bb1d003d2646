import { Buffer } from "node:buffer";
import { CoreError } from "../../../core/error.ts";
import { HEADER, STDIN, writeHeader } from "./record.ts";
import type { BodyStream } from "./request.ts";

/** Content of one STDIN record, in bytes; a multiple of eight. */
const PIECE = 65_528;

/** Where the records go. */
export interface StdinPort {
  /** Returns false when the writer should wait for {@linkcode StdinPump.drained}. */
  write(bytes: Uint8Array): boolean;
  /** The body failed, ended short or went past its length. Called at most once, and not after `cancel`. */
  fail(error: CoreError): void;
}

interface Source {
  next(): Promise<{ readonly done?: boolean | undefined; readonly value?: Uint8Array | undefined }>;
  cancel(): void;
}

/**
 * Sends a body of known length as STDIN records, no faster than the socket takes them. The empty record that ends STDIN
 * leaves with the last byte of the declared length; a byte more is a failure.
 */
export class StdinPump {
  readonly #id: number;
  readonly #port: StdinPort;
  #source: Source | undefined;
  #left: number;
  #flowing: boolean;
  #wake: (() => void) | undefined;
  #over = false;

  constructor(id: number, length: number, port: StdinPort, flowing: boolean) {
    this.#id = id;
    this.#port = port;
    this.#left = length;
    this.#flowing = flowing;
  }

  /** Whether all of STDIN has been handed to the socket. */
  get complete(): boolean {
    return this.#left === 0;
  }

  async run(body: BodyStream): Promise<void> {
    try {
      const source = this.#source = open(body.stream);
      if (this.#left === 0) this.#port.write(frame(this.#id, new Uint8Array(0), true));
      for (;;) {
        const { done, value } = await source.next();
        if (this.#over) return;
        if (done) break;
        await this.#send(value!);
        if (this.#over) return;
      }
      if (this.#left > 0) {
        throw new CoreError(
          "PHP_BODY_SHORT",
          `Expected ${body.length} bytes of request body, found the end after ${body.length - this.#left}`,
          { status: 400 },
        );
      }
      this.#over = true;
    } catch (cause) {
      if (this.#over) return;
      const error = cause instanceof CoreError
        ? cause
        : new CoreError("PHP_BODY_FAILED", "Cannot read the request body", { status: 400, cause });
      this.cancel();
      this.#port.fail(error);
    }
  }

  drained(): void {
    this.#flowing = true;
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }

  /** Stops sending, and tells the source that nobody reads on. */
  cancel(): void {
    if (this.#over) return;
    this.#over = true;
    this.drained();
    this.#source?.cancel();
  }

  async #send(chunk: Uint8Array): Promise<void> {
    if (chunk.byteLength > this.#left) {
      throw new CoreError(
        "PHP_BODY_LONG",
        `Expected the request body to end after its declared length, found ${chunk.byteLength - this.#left} bytes more`,
        { status: 400 },
      );
    }
    for (let at = 0; at < chunk.byteLength;) {
      if (!this.#flowing) await new Promise<void>((resolve) => this.#wake = resolve);
      if (this.#over) return;
      const piece = chunk.subarray(at, at + PIECE);
      at += piece.byteLength;
      this.#left -= piece.byteLength;
      this.#flowing = this.#port.write(frame(this.#id, piece, this.#left === 0));
    }
  }
}

function frame(id: number, piece: Uint8Array, last: boolean): Buffer {
  const content = piece.byteLength === 0 ? 0 : HEADER + piece.byteLength;
  const out = Buffer.allocUnsafe(content + (last ? HEADER : 0));
  if (content > 0) out.set(piece, writeHeader(out, 0, STDIN, id, piece.byteLength));
  if (last) writeHeader(out, content, STDIN, id, 0);
  return out;
}

function open(stream: BodyStream["stream"]): Source {
  if (stream instanceof ReadableStream) {
    const reader = stream.getReader();
    return { next: () => reader.read(), cancel: () => void reader.cancel().catch(() => {}) };
  }
  const iterator = stream[Symbol.asyncIterator]();
  return { next: () => iterator.next(), cancel: () => void iterator.return?.().then(() => {}, () => {}) };
}
