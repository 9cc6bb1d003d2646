/**
 * The Goridge frame: twelve bytes of header, options of four bytes each, a payload. What reads it is in `frame_reader.ts`.
 *
 * | byte | meaning |
 * | --- | --- |
 * | 0 | version 1 in the upper half; in the lower one the header's length in words: 3 and the number of options |
 * | 1 | flags |
 * | 2-5 | length of the payload, little endian |
 * | 6-9 | CRC-32 of bytes 0 to 5, little endian |
 * | 10 | stream bits |
 * | 11 | 0 |
 *
 * The payload of a request or of an answer is a head and a body; the first option says how long the head is.
 *
 * @module
 */
import { Buffer } from "node:buffer";

/** Flags. A frame without one of the codecs is an answer with a JSON head. */
export const CONTROL = 0x01;
export const JSON_CODEC = 0x08;
export const ERROR = 0x40;
export const PROTO_CODEC = 0x80;

/** Stream bits: more frames follow; stop the stream; are you there; I am. */
export const STREAM = 0x01;
export const STOP = 0x02;
export const PING = 0x04;
export const PONG = 0x08;

/** Bytes of a header without options. */
export const HEADER = 12;
/** Options a frame can have. */
export const MAX_OPTIONS = 10;

const crcTable = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let bit = 0; bit < 8; bit++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n;
});

/** The checksum of a header: of its first six bytes. */
export function crcOfSix(bytes: Uint8Array, at: number): number {
  let crc = 0xffffffff;
  for (let i = at; i < at + 6; i++) crc = crcTable[(crc ^ bytes[i]!) & 255]! ^ (crc >>> 8);
  return ~crc >>> 0;
}

function writeWord(out: Uint8Array, at: number, value: number): void {
  out[at] = value;
  out[at + 1] = value >>> 8;
  out[at + 2] = value >>> 16;
  out[at + 3] = value >>> 24;
}

export function readWord(from: Uint8Array, at: number): number {
  return (from[at]! | from[at + 1]! << 8 | from[at + 2]! << 16 | from[at + 3]! << 24) >>> 0;
}

/** Bytes a frame's header takes with that many options. */
export function headerLength(options: number): number {
  return HEADER + 4 * options;
}

/** Writes header and options into `out` at `at`; returns the offset of the payload. */
export function writeHeader(
  out: Uint8Array,
  at: number,
  flags: number,
  options: readonly number[],
  length: number,
  stream = 0,
): number {
  out[at] = 0x10 | (3 + options.length);
  out[at + 1] = flags;
  writeWord(out, at + 2, length);
  writeWord(out, at + 6, crcOfSix(out, at));
  out[at + 10] = stream;
  out[at + 11] = 0;
  let end = at + HEADER;
  for (const option of options) {
    writeWord(out, end, option);
    end += 4;
  }
  return end;
}

/** A whole frame in one buffer, for one write: a PHP worker dies of a header that comes in two pieces. */
export function encodeFrame(flags: number, options: readonly number[], payload: Uint8Array, stream = 0): Buffer {
  const out = Buffer.allocUnsafe(headerLength(options.length) + payload.byteLength);
  out.set(payload, writeHeader(out, 0, flags, options, payload.byteLength, stream));
  return out;
}

/** A control frame: an order or a question to the worker itself. */
export function encodeControl(message: unknown): Buffer {
  return encodeFrame(CONTROL | JSON_CODEC, [], Buffer.from(JSON.stringify(message)));
}
