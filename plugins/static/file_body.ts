/** Response bodies out of an open file. @module */
import * as fs from "node:fs";
import { CoreError } from "../../core/error.ts";
import type { FileSpan } from "../../core/http/bytes.ts";
import type { Span } from "./range.ts";

/** What is sent in turn: bytes at hand, or a span of the file. */
export type Piece = Uint8Array<ArrayBuffer> | Span;

/** Bytes read from the file at once; also about what a connection holds in memory. */
const CHUNK = 128 * 1024;

export function lengthOf(pieces: readonly Piece[]): number {
  return pieces.reduce((sum, piece) => sum + (piece instanceof Uint8Array ? piece.length : piece.end - piece.start), 0);
}

/** Reads everything now. The descriptor stays open. */
export function readAll(fd: number, pieces: readonly Piece[]): Uint8Array<ArrayBuffer> {
  const out = Buffer.allocUnsafeSlow(lengthOf(pieces));
  let at = 0;
  for (const piece of pieces) {
    if (piece instanceof Uint8Array) {
      out.set(piece, at);
      at += piece.length;
      continue;
    }
    for (let from = piece.start; from < piece.end;) {
      const n = fs.readSync(fd, out, at, piece.end - from, from);
      if (n === 0) throw shrank();
      from += n;
      at += n;
    }
  }
  return out;
}

/** Who is told how a streamed body fares. An `Exchange` is one. */
export interface Delivery {
  /** Bytes handed over so far; all of them, when the listener sends the file by itself. */
  bytes: number;
  /**
   * Settles when the last byte has been handed over; rejects when it never will be. A listener that sends the file by
   * itself has it handed over at once: what becomes of it then is told to nobody.
   */
  sent: Promise<unknown> | undefined;
  /** Runs `left` once if the client leaves; returns what takes it back. */
  onGone?(left: () => void): () => void;
}

/**
 * Streams pieces of a file, reading only what is asked for. Owns the descriptor: it is closed at the end, on failure,
 * when the stream is cancelled and on {@linkcode FileBody.abort}. Never sends more than was promised; a file that has
 * shrunk fails the stream, so that the client sees a cut and not a shorter whole.
 */
export class FileBody {
  readonly stream: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly #fd: number;
  readonly #pieces: readonly Piece[];
  readonly #delivery: Delivery;
  readonly #forget: (() => void) | undefined;
  readonly #sent = Promise.withResolvers<void>();
  #begun = false;
  #controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>> | undefined;
  #piece = 0;
  #offset = 0;
  #reading = false;
  #ended = false;

  constructor(fd: number, pieces: readonly Piece[], delivery: Delivery = { bytes: 0, sent: undefined }) {
    this.#fd = fd;
    this.#pieces = pieces;
    this.#delivery = delivery;
    delivery.bytes = 0;
    delivery.sent = this.#sent.promise;
    // Whoever waits for `sent` hears of a failure; that nobody waits is no crash.
    this.#sent.promise.catch(() => {});
    this.stream = new ReadableStream({
      start: (controller) => {
        this.#controller = controller;
      },
      pull: () => this.#pull(),
      cancel: (reason) => this.#end(gone(reason)),
    }, { highWaterMark: 0 });
    this.#forget = delivery.onGone?.(() => this.abort());
  }

  /** Gives the file up if it is still being sent: the client has left. */
  abort(): void {
    if (this.#ended) return;
    const error = gone(undefined);
    this.#controller?.error(error);
    this.#end(error);
  }

  /** The one span that is the whole body, for a listener that can send it by itself; undefined when there are more. */
  get span(): FileSpan | undefined {
    const [span, ...more] = this.#pieces;
    if (span === undefined || span instanceof Uint8Array || more.length > 0) return undefined;
    return { fd: this.#fd, start: span.start, end: span.end, take: () => this.#give(span) };
  }

  #give({ start, end }: Span): boolean {
    if (this.#begun || this.#ended || fs.fstatSync(this.#fd).size < end) return false;
    this.#delivery.bytes = end - start;
    this.#finish();
    return true;
  }

  #pull(): Promise<void> | void {
    this.#begun = true;
    const piece = this.#pieces[this.#piece] as Piece;
    if (piece instanceof Uint8Array) {
      this.#piece++;
      return this.#hand(piece);
    }
    const start = piece.start + this.#offset;
    const wanted = Math.min(CHUNK, piece.end - start);
    const chunk = Buffer.allocUnsafeSlow(wanted);
    this.#reading = true;
    return new Promise((resolve) => {
      fs.read(this.#fd, chunk, 0, wanted, start, (error, n) => {
        this.#reading = false;
        if (this.#ended) fs.closeSync(this.#fd);
        else if (error) this.#fail(error);
        else if (n === 0) this.#fail(shrank());
        else {
          this.#offset += n;
          if (start + n === piece.end) {
            this.#piece++;
            this.#offset = 0;
          }
          this.#hand(n === wanted ? chunk : chunk.subarray(0, n));
        }
        resolve();
      });
    });
  }

  #hand(chunk: Uint8Array<ArrayBuffer>): void {
    this.#controller?.enqueue(chunk);
    this.#delivery.bytes += chunk.length;
    if (this.#piece < this.#pieces.length) return;
    this.#controller?.close();
    this.#end();
  }

  #fail(error: Error): void {
    this.#controller?.error(error);
    this.#end(error);
  }

  /** A descriptor is not closed under a read: its number could be another file's by then. */
  #end(error?: Error): void {
    if (this.#ended) return;
    if (!this.#reading) fs.closeSync(this.#fd);
    this.#finish(error);
  }

  #finish(error?: Error): void {
    this.#ended = true;
    this.#forget?.();
    if (error) this.#sent.reject(error);
    else this.#sent.resolve();
  }
}

function shrank(): CoreError {
  return new CoreError(
    "FILE_SHRANK",
    "The file became shorter while it was sent; replace files by renaming over them",
    {
      status: 503,
    },
  );
}

function gone(cause: unknown): CoreError {
  return new CoreError("SEND_CANCELLED", "The client left before the file was sent", { cause });
}
