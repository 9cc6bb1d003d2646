/**
 * SET: which of its forms give literals to variables of the session, and why the others are not understood.
 *
 * @module
 */
import { END, NAME, NUMBER, OPAQUE, STRING, SYMBOL, SYSTEM_VARIABLE, USER_VARIABLE } from "./scanner.ts";
import type { Assignment, Residue, SqlMode } from "./statement.ts";
import { isReplayable } from "./variables.ts";
import { FLAGS, PURE_ON_MARIADB, PURE_ON_MYSQL, W } from "./vocabulary.ts";
import type { Walk } from "./walk.ts";
import { words } from "./words.ts";

const COMMA = 0x2c, DOT = 0x2e, COLON = 0x3a, SEMICOLON = 0x3b, EQUAL = 0x3d, MINUS = 0x2d, PLUS = 0x2b;
const ASCII = new TextDecoder("latin1");

export interface SetText {
  /** Undefined when any part of it is something else. */
  readonly assignments: readonly Assignment[] | undefined;
  readonly residue: Residue;
  readonly changesCatalogue: boolean;
}

/** Words that are no text where a value is expected. */
const NO_VALUE = new Set(words(
  "default null current_user current_role current_date current_time current_timestamp localtime localtimestamp utc_date " +
    "utc_time utc_timestamp sysdate rownum not binary case interval exists select row value values",
));
const TRANSACTION_VARIABLES = new Set(words("transaction_isolation tx_isolation transaction_read_only tx_read_only"));
const RESIDUES: ReadonlyMap<number, readonly [Residue, boolean]> = new Map([
  [W["role"]!, ["role", false]],
  [W["default"]!, ["role", true]],
  [W["password"]!, ["set", true]],
  [W["transaction"]!, ["transaction", false]],
  [W["statement"]!, ["set", false]],
  [W["resource"]!, ["set", false]],
  [W["global"]!, ["set", true]],
  [W["persist"]!, ["set", true]],
  [W["persist_only"]!, ["set", true]],
]);
const FAILED = Symbol();

/** Stands on SET. Where it gives up the scanner stands anywhere before the statement's end. */
export function parseSet(walk: Walk, sql: Uint8Array, mode: SqlMode): SetText {
  const scanner = walk.scanner;
  const assignments: Assignment[] = [];
  let why: Residue = "set";
  let catalogue = false;
  scanner.next();
  for (;;) {
    const done = item();
    if (done === FAILED) break;
    if (ended()) return { assignments, residue: "set", changesCatalogue: false };
    if (scanner.kind !== SYMBOL || scanner.code !== COMMA) break;
    scanner.next();
  }
  rest();
  return { assignments: undefined, residue: why, changesCatalogue: catalogue };

  function ended(): boolean {
    return scanner.kind === END || (scanner.kind === SYMBOL && scanner.code === SEMICOLON);
  }

  /** What is not understood may read anything, and a later part may be global. */
  function rest(): void {
    for (; scanner.kind !== OPAQUE && !ended(); scanner.next()) {
      const word = scanner.word;
      if (word === W["global"] || word === W["persist"] || word === W["persist_only"] || word === W["password"]) {
        catalogue = true;
      }
      const plain = scanner.kind === NAME || scanner.kind === NUMBER || scanner.kind === STRING;
      if (!plain && !(scanner.kind === SYMBOL && scanner.code !== 0x28)) {
        walk.readsPrevious = walk.readsConnectionId = true;
      }
    }
  }

  function item(): true | typeof FAILED {
    let session = false;
    if (scanner.kind === USER_VARIABLE) {
      why = "user_variable";
      return FAILED;
    }
    let kind: number = scanner.kind;
    if (kind === SYSTEM_VARIABLE) {
      const at = scanner.end;
      if (scanner.next() !== NAME || scanner.start !== at) return FAILED;
      if (scope()) {
        session = true;
        kind = scanner.next();
        if (kind !== SYMBOL || scanner.code !== DOT || scanner.next() !== NAME) return FAILED;
      }
    } else if (kind !== NAME) return FAILED;
    else if (scope()) {
      session = true;
      if (scanner.next() !== NAME) return FAILED;
      if (scanner.word === W["transaction"]) {
        why = "transaction";
        return FAILED;
      }
    } else if (scanner.word === W["names"]) {
      scanner.next();
      if (!equals()) return names("names");
      return FAILED;
    } else if (scanner.word === W["charset"]) {
      scanner.next();
      return names("character_set");
    } else if (scanner.word === W["character"] || scanner.word === W["char"]) {
      if (scanner.next() !== NAME || scanner.word !== W["set"]) return FAILED;
      scanner.next();
      return names("character_set");
    }
    const known = RESIDUES.get(scanner.word);
    if (known && !session) {
      [why, catalogue] = known;
      return FAILED;
    }
    const word = scanner.word;
    const name = ASCII.decode(sql.subarray(scanner.start, scanner.end)).toLowerCase();
    if (TRANSACTION_VARIABLES.has(word) && !session) {
      // Of the next transaction only, at least in the form with @@.
      why = "transaction";
      return FAILED;
    }
    if (!isReplayable(name, mode.server)) return FAILED;
    scanner.next();
    if (!equals()) return FAILED;
    scanner.next();
    const value = literal();
    if (value === undefined) return FAILED;
    assignments.push({ name, value });
    return true;
  }

  function scope(): boolean {
    return scanner.word === W["session"] || scanner.word === W["local"];
  }

  function equals(): boolean {
    if (scanner.kind !== SYMBOL) return false;
    return scanner.code === COLON || (scanner.code === EQUAL && scanner.end - scanner.start === 1);
  }

  function names(name: string): true | typeof FAILED {
    const value = charset();
    if (value === undefined) return FAILED;
    if (name === "names" && scanner.kind === NAME && scanner.word === W["collate"]) {
      scanner.next();
      const collation = charset();
      if (collation === undefined) return FAILED;
      assignments.push({ name, value, collation });
    } else assignments.push({ name, value });
    return true;
  }

  function charset(): string | undefined {
    if (scanner.kind === NAME && scanner.word === W["binary"]) {
      return next(ASCII.decode(sql.subarray(scanner.start, scanner.end)));
    }
    return scanner.kind === NAME || scanner.kind === STRING ? literal() : undefined;
  }

  function next(value: string): string {
    scanner.next();
    return value;
  }

  /** Only a whole value counts: what follows it must end the part, which the caller checks. */
  function literal(): string | undefined {
    let sign = "";
    if (
      scanner.kind === SYMBOL && (scanner.code === MINUS || scanner.code === PLUS) && scanner.end - scanner.start === 1
    ) {
      sign = scanner.code === MINUS ? "-" : "+";
      if (scanner.next() !== NUMBER) return undefined;
    }
    const { kind, start, end, word } = scanner;
    if (kind === NUMBER) return next(sign + ASCII.decode(sql.subarray(start, end)));
    if (kind === NAME) {
      if (NO_VALUE.has(word)) return undefined;
      // A function that may be called without parentheses; dates and intervals before a string do not end here.
      const called = FLAGS[word]! & (PURE_ON_MYSQL | PURE_ON_MARIADB);
      if (called && !PLAIN.has(word)) return undefined;
      return next(ASCII.decode(sql.subarray(start, end)));
    }
    if (kind !== STRING || (sql[start] !== 0x27 && sql[start] !== 0x22)) return undefined;
    for (let at = start + 1; at < end - 1; at++) {
      const byte = sql[at]!;
      if (byte === 0x5c || byte >= 0x80 || byte === sql[start]) return undefined;
    }
    return next(ASCII.decode(sql.subarray(start + 1, end - 1)));
  }
}

/** Names of values that are also functions, when a parenthesis follows. */
const PLAIN = new Set(words("ascii row quote compress database format user"));
