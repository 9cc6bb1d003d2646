/**
 * The FastCGI record: eight bytes of header, content, padding. Pure: bytes in, calls out.
 *
 * Source: the FastCGI 1.0 specification, section 3.3, and what PHP makes of it.
 *
 * @module
 */
import { CoreError } from "../../../core/error.ts";

/** Record types. PHP as a responder sends END, STDOUT and STDERR only. */
export const BEGIN_REQUEST = 1;
export const ABORT_REQUEST = 2;
export const END_REQUEST = 3;
export const PARAMS = 4;
export const STDIN = 5;
export const STDOUT = 6;
export const STDERR = 7;
export const DATA = 8;
export const UNKNOWN_TYPE = 11;

/** Bytes of a record header. */
export const HEADER = 8;
/** The most content one record can carry, in bytes. */
export const MAX_CONTENT = 65_535;

/** Writes a record header without padding into `out` at `at`; returns the offset behind it. */
export function writeHeader(out: Uint8Array, at: number, type: number, id: number, length: number): number {
  out[at] = 1;
  out[at + 1] = type;
  out[at + 2] = id >> 8;
  out[at + 3] = id;
  out[at + 4] = length >> 8;
  out[at + 5] = length;
  out[at + 6] = 0;
  out[at + 7] = 0;
  return at + HEADER;
}

/** Receives what a {@linkcode RecordReader} finds. */
export interface RecordSink {
  /**
   * `content` is a view of the chunk that was pushed. Records of the stream types (STDIN, STDOUT, STDERR, DATA) may
   * arrive in several calls, as their bytes come; all others in one call. A record without content is one call
   * with an empty view.
   */
  onRecord(type: number, id: number, content: Uint8Array): void;
}

const empty = new Uint8Array(0);

/**
 * Cuts a byte stream into records. Content is handed on without a copy, and only a short record that is no stream can be
 * held back: never more than {@linkcode MAX_CONTENT} bytes.
 */
export class RecordReader {
  readonly #sink: RecordSink;
  readonly #header = new Uint8Array(HEADER);
  #have = 0;
  #type = 0;
  #id = 0;
  #content = 0;
  #padding = 0;
  #held: Uint8Array | undefined;
  #filled = 0;
  #broken: CoreError | undefined;

  constructor(sink: RecordSink) {
    this.#sink = sink;
  }

  /** True when no record has been begun (padding of the last one may still come). */
  get fresh(): boolean {
    return this.#have === 0 && this.#content === 0;
  }

  /**
   * Takes the next bytes, cut anywhere.
   *
   * @throws CoreError `PHP_PROTOCOL` (status 502) when they are not FastCGI; every later call throws it again.
   */
  push(chunk: Uint8Array): void {
    if (this.#broken !== undefined) throw this.#broken;
    const end = chunk.byteLength;
    let at = 0;
    while (at < end) {
      if (this.#content > 0) {
        const take = Math.min(this.#content, end - at);
        const content = chunk.subarray(at, at + take);
        at += take;
        this.#deliver(content);
      } else if (this.#padding > 0) {
        const take = Math.min(this.#padding, end - at);
        at += take;
        this.#padding -= take;
      } else if (this.#have === 0 && end - at >= HEADER) {
        this.#begin(chunk, at);
        at += HEADER;
      } else {
        const byte = chunk[at++]!;
        if (this.#have === 0 && byte !== 1) this.#refuse(`version ${byte}`);
        this.#header[this.#have++] = byte;
        if (this.#have === HEADER) {
          this.#have = 0;
          this.#begin(this.#header, 0);
        }
      }
    }
  }

  #begin(from: Uint8Array, at: number): void {
    if (from[at] !== 1) this.#refuse(`version ${from[at]}`);
    const type = from[at + 1]!;
    if (type < BEGIN_REQUEST || type > UNKNOWN_TYPE) this.#refuse(`record type ${type}`);
    this.#type = type;
    this.#id = from[at + 2]! << 8 | from[at + 3]!;
    this.#content = from[at + 4]! << 8 | from[at + 5]!;
    this.#padding = from[at + 6]!;
    if (this.#content === 0) this.#sink.onRecord(type, this.#id, empty);
  }

  #deliver(content: Uint8Array): void {
    this.#content -= content.byteLength;
    if (this.#type >= STDIN && this.#type <= DATA) return this.#sink.onRecord(this.#type, this.#id, content);
    if (this.#held === undefined && this.#content === 0) return this.#sink.onRecord(this.#type, this.#id, content);
    this.#held ??= new Uint8Array(content.byteLength + this.#content);
    this.#held.set(content, this.#filled);
    this.#filled += content.byteLength;
    if (this.#content > 0) return;
    const whole = this.#held;
    this.#held = undefined;
    this.#filled = 0;
    this.#sink.onRecord(this.#type, this.#id, whole);
  }

  #refuse(found: string): never {
    this.#broken = new CoreError("PHP_PROTOCOL", `Expected a FastCGI record of version 1 from PHP, found ${found}`, {
      status: 502,
    });
    throw this.#broken;
  }
}
