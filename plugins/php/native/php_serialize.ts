/**
 * PHP's `serialize()` format, as far as the worker protocol needs it: arrays to be read by `unserialize`, and a strict reader
 * of small arrays that PHP wrote.
 *
 * Texts are byte strings, one character for each byte: what is written here is turned into bytes as Latin-1, once and at
 * the end.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { CoreError } from "../../../core/error.ts";

/** A string. Text that is no byte string (it has a character over U+00FF) is written as UTF-8. */
export function phpString(text: string): string {
  const bytes = wide.test(text) ? Buffer.from(text, "utf8").toString("latin1") : text;
  return `s:${bytes.length}:"${bytes}";`;
}

const wide = /[^\0-\xff]/;

export function phpInt(value: number): string {
  return `i:${value};`;
}

/** A float; PHP reads back exactly this number. */
export function phpFloat(value: number): string {
  return value === Infinity
    ? "d:INF;"
    : value === -Infinity
    ? "d:-INF;"
    : Number.isNaN(value)
    ? "d:NAN;"
    : `d:${value};`;
}

/** An array of entries that are written already, each as its key and its value. */
export function phpArray(count: number, entries: string): string {
  return `a:${count}:{${entries}}`;
}

/** An array with the keys 0, 1, 2... */
export function phpList(values: readonly string[]): string {
  let entries = "";
  for (let i = 0; i < values.length; i++) entries += `i:${i};${values[i]}`;
  return phpArray(values.length, entries);
}

/** What the reader makes of PHP's values; an array is a map, whatever its keys. */
export type PhpValue = string | number | boolean | null | ReadonlyMap<string | number, PhpValue>;

/** Arrays within arrays that are read at most. */
const maxDepth = 8;

/**
 * Reads one serialized value that fills the bytes exactly: null, a bool, an int, a string or an array of these. Anything else
 * (an object, a reference, a float) is refused.
 *
 * @throws CoreError `PHP_PROTOCOL` (status 502)
 */
export function readPhpValue(bytes: Uint8Array): PhpValue {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
  let at = 0;
  const value = read(0);
  if (at !== text.length) throw unreadable(at);
  return value;

  function read(depth: number): PhpValue {
    const kind = text.slice(at, at + 2);
    if (kind === "N;") {
      at += 2;
      return null;
    }
    if (kind === "b:") {
      const bit = match(/b:([01]);/y);
      return bit === "1";
    }
    if (kind === "i:") {
      const value = Number(match(/i:(-?(?:0|[1-9]\d{0,15}));/y));
      if (!Number.isSafeInteger(value) || Object.is(value, -0)) throw unreadable(at);
      return value;
    }
    if (kind === "s:") {
      const length = Number(match(/s:(0|[1-9]\d{0,9}):"/y));
      const value = text.slice(at, at + length);
      at += length;
      if (value.length !== length || text.slice(at, at + 2) !== '";') throw unreadable(at);
      at += 2;
      return value;
    }
    if (kind !== "a:" || depth === maxDepth) throw unreadable(at);
    const count = Number(match(/a:(0|[1-9]\d{0,6}):\{/y));
    const map = new Map<string | number, PhpValue>();
    for (let i = 0; i < count; i++) {
      const key = read(maxDepth);
      if (typeof key !== "string" && typeof key !== "number") throw unreadable(at);
      map.set(key, read(depth + 1));
    }
    if (text[at++] !== "}") throw unreadable(at - 1);
    return map;
  }

  function match(pattern: RegExp): string {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found === null) throw unreadable(at);
    at += found[0].length;
    return found[1]!;
  }
}

function unreadable(at: number): CoreError {
  return new CoreError("PHP_PROTOCOL", `Expected an array as PHP serializes it, found something else at byte ${at}`, {
    status: 502,
  });
}
