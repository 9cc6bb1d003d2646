/**
 * The integers and strings of the MySQL protocol, read and written. The tests' own, so that it can judge the proxy's.
 *
 * @module
 */
import { Buffer } from "node:buffer";

/** Reads one payload from its start to its end. */
export class Cursor {
  readonly bytes: Buffer;
  at: number;

  constructor(bytes: Buffer, at = 0) {
    this.bytes = bytes;
    this.at = at;
  }

  get left(): number {
    return this.bytes.length - this.at;
  }

  uint(size: number): number {
    this.at += size;
    return this.bytes.readUIntLE(this.at - size, size);
  }

  take(length: number): Buffer {
    if (length > this.left) throw new Error(`Cannot take ${length} bytes: ${this.left} are left`);
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }

  /** A length-encoded integer; null is its NULL. */
  lenenc(): number | null {
    const first = this.uint(1);
    if (first < 0xfb) return first;
    if (first === 0xfb) return null;
    if (first === 0xfc) return this.uint(2);
    if (first === 0xfd) return this.uint(3);
    if (first === 0xff) throw new Error("ff is no length");
    const low = this.uint(4);
    return this.uint(4) * 2 ** 32 + low;
  }

  /** A length-encoded string; null is NULL. */
  string(): Buffer | null {
    const length = this.lenenc();
    return length === null ? null : this.take(length);
  }

  text(): string {
    return this.string()?.toString() ?? "";
  }

  /** Up to a NUL, which is skipped, or to the end. */
  untilNul(): Buffer {
    const end = this.bytes.indexOf(0, this.at);
    const found = this.take((end < 0 ? this.bytes.length : end) - this.at);
    this.at = Math.min(this.at + 1, this.bytes.length);
    return found;
  }
}

export function uint(value: number, size: number): Buffer {
  const bytes = Buffer.alloc(size);
  bytes.writeUIntLE(value, 0, size);
  return bytes;
}

export function lenenc(value: number): Buffer {
  if (value < 0xfb) return uint(value, 1);
  if (value <= 0xffff) return Buffer.concat([uint(0xfc, 1), uint(value, 2)]);
  if (value <= 0xffffff) return Buffer.concat([uint(0xfd, 1), uint(value, 3)]);
  return Buffer.concat([uint(0xfe, 1), uint(value % 2 ** 32, 4), uint(Math.floor(value / 2 ** 32), 4)]);
}

export function lenencString(value: string | Uint8Array): Buffer {
  const bytes = Buffer.from(value as string);
  return Buffer.concat([lenenc(bytes.length), bytes]);
}

export function nul(value: string): Buffer {
  return Buffer.from(`${value}\0`);
}
