/**
 * The protobuf codec: the messages `Request` and `Response` of package `http.v1`. Bytes in values stay as they are.
 *
 *     Request  { 1 remote_addr  2 protocol  3 method  4 uri  5 map header  6 map cookies  7 raw_query  8 bool parsed
 *                9 bytes uploads  10 map attributes }
 *     Response { 1 int64 status  2 map headers }
 *
 * Maps are from string to `HeaderValue { 1 repeated bytes value }`.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import type { RequestContext } from "./context.ts";
import { bytesOf, textOf } from "./text.ts";

const VARINT = 0, FIXED64 = 1, LENGTH = 2, FIXED32 = 5;

/** The context of a request. */
export function protoContext(c: RequestContext): Uint8Array {
  const out = new Writer();
  out.string(1, c.remoteAddr);
  out.string(2, c.protocol);
  out.string(3, c.method);
  out.string(4, c.uri);
  for (const [name, value] of c.headers) out.entry(5, name, value);
  // Keys of maps must be UTF-8.
  for (const [name, value] of c.cookies) out.entry(6, bytesOf(textOf(name)), value);
  out.string(7, c.rawQuery);
  if (c.parsed) out.flag(8);
  if (c.uploads !== undefined) out.string(9, bytesOf(c.uploads));
  for (const name in c.attributes) out.entry(10, bytesOf(name), bytesOf(c.attributes[name]!));
  return out.take();
}

/** Writes byte strings. */
class Writer {
  #bytes = Buffer.allocUnsafe(2048);
  #at = 0;

  string(field: number, value: string): void {
    if (value !== "") this.#text(field, value);
  }

  flag(field: number): void {
    this.#room(8);
    this.#varint(field << 3 | VARINT);
    this.#varint(1);
  }

  /** One entry of a map to `HeaderValue`, with one value. */
  entry(field: number, key: string, value: string): void {
    const inner = 1 + sizeOf(value.length) + value.length;
    const keyed = 1 + sizeOf(key.length) + key.length;
    const whole = keyed + 1 + sizeOf(inner) + inner;
    this.#room(16 + whole);
    this.#varint(field << 3 | LENGTH);
    this.#varint(whole);
    this.#text(1, key);
    this.#varint(2 << 3 | LENGTH);
    this.#varint(inner);
    this.#text(1, value);
  }

  take(): Uint8Array {
    return this.#bytes.subarray(0, this.#at);
  }

  #text(field: number, value: string): void {
    this.#room(16 + value.length);
    this.#varint(field << 3 | LENGTH);
    this.#varint(value.length);
    this.#at += this.#bytes.write(value, this.#at, "latin1");
  }

  #varint(value: number): void {
    while (value > 127) {
      this.#bytes[this.#at++] = value & 127 | 128;
      value >>>= 7;
    }
    this.#bytes[this.#at++] = value;
  }

  #room(bytes: number): void {
    if (this.#at + bytes <= this.#bytes.byteLength) return;
    const grown = Buffer.allocUnsafe(2 * this.#bytes.byteLength + bytes);
    grown.set(this.take());
    this.#bytes = grown;
  }
}

function sizeOf(value: number): number {
  let size = 1;
  for (; value > 127; value >>>= 7) size++;
  return size;
}

/** What the protobuf head of an answer says, or undefined when it is malformed. Values are byte strings. */
export function readProtoHead(
  bytes: Uint8Array,
): { readonly status: number; readonly headers: readonly (readonly [string, string])[] } | undefined {
  let status = 0;
  const headers: (readonly [string, string])[] = [];
  const whole = fields(bytes, (field, value) => {
    if (field === 1 && typeof value === "number") status = value;
    if (field !== 2 || typeof value === "number") return true;
    let name = "";
    const values: string[] = [];
    const entry = fields(value, (inner, part) => {
      if (typeof part === "number") return true;
      if (inner === 1) name = latin1(part);
      if (inner !== 2) return true;
      return fields(part, (one, text) => {
        if (one === 1 && typeof text !== "number") values.push(latin1(text));
        return true;
      });
    });
    for (const one of values) headers.push([name, one]);
    return entry;
  });
  return whole ? { status, headers } : undefined;
}

/** Calls `take` for each field but those of fixed size; false when the bytes are no message or `take` was false. */
function fields(bytes: Uint8Array, take: (field: number, value: number | Uint8Array) => boolean): boolean {
  const end = bytes.byteLength;
  let at = 0;
  /** -1 when it is none. Above 2^53 the value is not exact. */
  const varint = (): number => {
    let value = 0;
    for (let factor = 1, i = 0; i < 10 && at < end; i++, factor *= 128) {
      const byte = bytes[at++]!;
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
    return -1;
  };
  while (at < end) {
    const tag = varint();
    const field = Math.floor(tag / 8), type = tag % 8;
    if (tag < 0 || field < 1) return false;
    if (type === VARINT) {
      const value = varint();
      if (value < 0 || !take(field, value)) return false;
    } else if (type === LENGTH) {
      const length = varint();
      if (length < 0 || length > end - at || !take(field, bytes.subarray(at, at + length))) return false;
      at += length;
    } else if (type === FIXED64 || type === FIXED32) {
      at += type === FIXED64 ? 8 : 4;
      if (at > end) return false;
    } else return false;
  }
  return true;
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
}
