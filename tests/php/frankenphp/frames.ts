/**
 * The frames of plugins/php/native/PROTOCOL.md, written a second time, for tests of the PHP side.
 *
 * @module
 */
import { Buffer } from "node:buffer";

export const HELLO = 1, REQUEST = 2, REPLY = 3, EARLY = 4, GONE = 5, STOP = 6, LEAVING = 7, FORK = 8, LOG = 9;
export const LAST = 1, READY = 2;

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly number: number;
  readonly payload: Buffer;
  /** When it came (ms, `performance.now()`). */
  readonly at: number;
}

export function frame(type: number, number: number, payload: Uint8Array = new Uint8Array()): Buffer {
  const head = Buffer.alloc(12);
  head.writeUInt32LE(payload.length, 0);
  head[4] = type;
  head.writeUInt32LE(number, 8);
  return Buffer.concat([head, payload]);
}

export function frameReader(onFrame: (frame: Frame) => void): (bytes: Uint8Array) => void {
  let held = Buffer.alloc(0);
  return (bytes) => {
    held = held.length === 0 ? Buffer.from(bytes) : Buffer.concat([held, bytes]);
    while (held.length >= 12) {
      const end = 12 + held.readUInt32LE(0);
      if (held.length < end) return;
      const payload = held.subarray(12, end);
      const [type = 0, flags = 0] = held.subarray(4, 6);
      const number = held.readUInt32LE(8);
      held = held.subarray(end);
      onFrame({ type, flags, number, payload, at: performance.now() });
    }
  };
}

export type Value = string | number | readonly Value[] | { readonly [key: string]: Value | undefined };

/** As PHP's `serialize`; strings are byte strings. */
export function serialize(value: Value): string {
  if (typeof value === "string") return `s:${value.length}:"${value}";`;
  if (typeof value === "number") return Number.isInteger(value) ? `i:${value};` : `d:${value};`;
  const entries: (readonly [string | number, Value | undefined])[] = Array.isArray(value)
    ? value.map((item, i) => [i, item as Value])
    : Object.entries(value);
  const kept = entries.filter((entry): entry is readonly [string | number, Value] => entry[1] !== undefined);
  return `a:${kept.length}:{${kept.map(([key, item]) => serialize(key) + serialize(item)).join("")}}`;
}
