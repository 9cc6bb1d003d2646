/**
 * FastCGI name-value pairs. A blob is any number of encoded pairs; blobs can be kept, and concatenated with others:
 * encode once what is the same for each request, and only the rest per request. When a name comes twice, PHP keeps the
 * later value.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { CoreError } from "../../../core/error.ts";
import { MAX_CONTENT } from "./record.ts";

export type Pair = readonly [name: string, value: string];

/** Up to here (characters) a loop is faster than a call into the runtime. */
const LOOP = 24;

/** Encodes pairs one after the other into a buffer it keeps; {@linkcode ParamsWriter.take} copies them out. */
export class ParamsWriter {
  #out: Buffer = Buffer.allocUnsafeSlow(4096);
  #at = 0;

  /** Adds a pair as UTF-8: for values that are text (paths, names, settings). */
  text(name: string, value: string): void {
    this.#add(name, value, false);
  }

  /**
   * Adds a pair whose value is a byte string: each character up to U+00FF is the byte of that number, as HTTP headers
   * are read, so PHP gets the bytes the client sent. A value with a character above is no byte string and goes as UTF-8.
   */
  bytes(name: string, value: string): void {
    this.#add(name, value, true);
  }

  /** Returns the pairs added since the last call, as a blob of its own. */
  take(): Uint8Array {
    const blob = new Uint8Array(this.#at);
    blob.set(this.#out.subarray(0, this.#at));
    this.#at = 0;
    return blob;
  }

  #add(name: string, value: string, bytes: boolean): void {
    this.#reserve(8 + 3 * (name.length + value.length));
    const start = this.#at;
    const out = this.#out;
    // Nearly everything is ASCII: then a string is as long in bytes as in characters, and the lengths are known before.
    const first = start + (name.length < 128 ? 1 : 4) + (value.length < 128 ? 1 : 4);
    if (putAscii(out, first, name) && putAscii(out, first + name.length, value)) {
      writeLength(out, writeLength(out, start, name.length), value.length);
      this.#at = first + name.length + value.length;
      return;
    }
    const encoding = bytes && isBytes(value) ? "latin1" : "utf8";
    const nameLength = Buffer.byteLength(name);
    const valueLength = encoding === "latin1" ? value.length : Buffer.byteLength(value);
    let at = writeLength(out, start, nameLength);
    at = writeLength(out, at, valueLength);
    out.write(name, at, "utf8");
    at += nameLength;
    out.write(value, at, encoding);
    this.#at = at + valueLength;
  }

  #reserve(more: number): void {
    if (this.#at + more <= this.#out.byteLength) return;
    const grown = Buffer.allocUnsafeSlow(2 * (this.#at + more));
    grown.set(this.#out.subarray(0, this.#at));
    this.#out = grown;
  }
}

/** Writes a string; false when it was not ASCII, and what was written is of no use. */
function putAscii(out: Buffer, at: number, text: string): boolean {
  const length = text.length;
  if (length > LOOP) return out.write(text, at, "utf8") === length;
  let all = 0;
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i);
    all |= code;
    out[at + i] = code;
  }
  return all < 128;
}

function isBytes(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0xff) return false;
  return true;
}

function writeLength(out: Uint8Array, at: number, length: number): number {
  if (length < 128) {
    out[at] = length;
    return at + 1;
  }
  out[at] = length >>> 24 | 0x80;
  out[at + 1] = length >>> 16;
  out[at + 2] = length >>> 8;
  out[at + 3] = length;
  return at + 4;
}

/** Encodes pairs as UTF-8 text; see {@linkcode ParamsWriter.text}. */
export function encodeParams(pairs: Iterable<Pair>): Uint8Array {
  const writer = new ParamsWriter();
  for (const [name, value] of pairs) writer.text(name, value);
  return writer.take();
}

/**
 * Distributes blobs over PARAMS records: each entry is the content of one record, in pieces. PHP parses every record
 * on its own and closes the connection on a pair that spans two, so cuts fall between pairs only.
 *
 * @throws CoreError `PHP_PARAMS_TOO_LARGE` (status 431) when one pair does not fit into a record.
 * @throws CoreError `PHP_PARAMS_MALFORMED` when a blob is not made of whole pairs (noticed only when there is more than
 * one record of them).
 */
export function packParams(blobs: readonly Uint8Array[]): readonly (readonly Uint8Array[])[] {
  let total = 0;
  for (const blob of blobs) total += blob.byteLength;
  if (total <= MAX_CONTENT) return total === 0 ? [] : [blobs];
  const records: Uint8Array[][] = [];
  let record: Uint8Array[] = [];
  let room = MAX_CONTENT;
  for (const blob of blobs) {
    let from = 0;
    for (let at = 0; at < blob.byteLength;) {
      const end = pairEnd(blob, at);
      const length = end - at;
      if (length > MAX_CONTENT) throw tooLarge(length);
      if (length > room) {
        if (at > from) record.push(blob.subarray(from, at));
        records.push(record);
        record = [];
        room = MAX_CONTENT;
        from = at;
      }
      room -= length;
      at = end;
    }
    if (from < blob.byteLength) record.push(blob.subarray(from));
  }
  records.push(record);
  return records;
}

function pairEnd(blob: Uint8Array, at: number): number {
  const start = at;
  let length = 0;
  for (let i = 0; i < 2; i++) {
    const first = blob[at];
    if (first !== undefined && first < 128) {
      length += first;
      at += 1;
    } else {
      if (at + 4 > blob.byteLength) throw malformed(start);
      length += (first! & 0x7f) * 0x1000000 + (blob[at + 1]! << 16 | blob[at + 2]! << 8 | blob[at + 3]!);
      at += 4;
    }
  }
  if (at + length > blob.byteLength) throw malformed(start);
  return at + length;
}

function tooLarge(length: number): CoreError {
  return new CoreError(
    "PHP_PARAMS_TOO_LARGE",
    `Expected every header and parameter to have at most ${MAX_CONTENT} bytes, found one of ${length}; PHP takes no more`,
    { status: 431 },
  );
}

function malformed(at: number): CoreError {
  return new CoreError("PHP_PARAMS_MALFORMED", `Expected encoded FastCGI pairs, found half a pair at byte ${at}`);
}
