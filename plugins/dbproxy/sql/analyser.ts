/**
 * {@linkcode analyse} with a memory for short texts, so that a repeated one costs little more than a hash of its bytes.
 *
 * @module
 */
import { analyse } from "./analyse.ts";
import { type Digest, digestOf } from "./digest.ts";
import type { SqlMode, Statement } from "./statement.ts";

/** Longer texts seldom come twice, and cost more to keep. */
const LONGEST = 4096;

interface Entry {
  readonly text: Uint8Array;
  readonly mode: number;
  readonly version: number;
  readonly statement: Statement;
  /** Made when it is first asked for. */
  digest: Digest | undefined;
}

/**
 * Keeps the texts used last, in two halves: when the younger is full it becomes the older, and what was not used since is
 * forgotten.
 */
export class Analyser {
  readonly #half: number;
  #young = new Map<number, Entry>();
  #old = new Map<number, Entry>();

  /** `capacity` is the most texts to keep. */
  constructor(capacity: number = 4096) {
    this.#half = Math.max(1, capacity >>> 1);
  }

  /** How many texts are kept. */
  get size(): number {
    return this.#young.size + this.#old.size;
  }

  analyse(sql: Uint8Array, mode: SqlMode): Statement {
    return sql.length > LONGEST ? analyse(sql, mode) : this.#entry(sql, mode).statement;
  }

  /** The text's digest, with the same memory. */
  digest(sql: Uint8Array, mode: SqlMode): Digest {
    if (sql.length > LONGEST) return digestOf(sql, mode);
    const entry = this.#entry(sql, mode);
    return entry.digest ??= digestOf(sql, mode);
  }

  #entry(sql: Uint8Array, mode: SqlMode): Entry {
    const bits = (mode.ansiQuotes ? 1 : 0) | (mode.noBackslashEscapes ? 2 : 0) | (mode.ignoreSpace ? 4 : 0) |
      (mode.server === "mariadb" ? 8 : 0) | (mode.unsafeCharset ? 16 : 0);
    const hash = hashOf(sql, bits);
    let entry = this.#young.get(hash);
    if (entry !== undefined && fits(entry, sql, bits, mode.version)) return entry;
    entry = this.#old.get(hash);
    if (entry === undefined || !fits(entry, sql, bits, mode.version)) {
      const statement = analyse(sql, mode);
      entry = { text: sql.slice(), mode: bits, version: mode.version, statement, digest: undefined };
    } else this.#old.delete(hash);
    if (this.#young.size >= this.#half && !this.#young.has(hash)) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(hash, entry);
    return entry;
  }
}

/** FNV-1a with four bytes a step; only to find an entry, whose bytes are then compared. */
function hashOf(sql: Uint8Array, seed: number): number {
  const length = sql.length;
  let hash = 0x811c9dc5 ^ seed ^ Math.imul(length, 0x9e3779b1);
  let at = 0;
  for (; at + 4 <= length; at += 4) {
    const four = sql[at]! | (sql[at + 1]! << 8) | (sql[at + 2]! << 16) | (sql[at + 3]! << 24);
    hash = Math.imul(hash ^ four, 0x01000193);
    hash ^= hash >>> 15;
  }
  for (; at < length; at++) hash = Math.imul(hash ^ sql[at]!, 0x01000193);
  return (hash ^ (hash >>> 13)) | 0;
}

function fits(entry: Entry, sql: Uint8Array, mode: number, version: number): boolean {
  const text = entry.text;
  const length = text.length;
  if (length !== sql.length || entry.mode !== mode || entry.version !== version) return false;
  for (let at = 0; at < length; at++) if (text[at] !== sql[at]) return false;
  return true;
}
