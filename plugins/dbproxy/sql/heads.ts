/**
 * SHOW and EXPLAIN: which of their forms only read.
 *
 * @module
 */
import { LOWER } from "./chars.ts";
import { NAME, STRING } from "./scanner.ts";
import { W } from "./vocabulary.ts";
import type { Walk } from "./walk.ts";
import { words } from "./words.ts";

const QUALIFIERS = new Set(words("full extended global session local"));
const READING = new Set(words(
  "tables databases schemas columns fields index indexes keys table create engines storage plugins privileges charset " +
    "character collation triggers events function procedure open grants variables processlist",
));
const TELLING = new Set(words("warnings errors count status profile profiles"));
/** Variables whose value comes from an earlier statement or from the connection itself. */
const CHANGING = [
  "error_count",
  "warning_count",
  "identity",
  "last_insert_id",
  "insert_id",
  "timestamp",
  "pseudo_thread_id",
  "in_transaction",
  "last_gtid",
  "gtid_next",
  "gtid_owned",
  "rand_seed1",
  "rand_seed2",
  "statement_id",
  "profiling",
];

/** Stands on SHOW; walks to the end. */
export function readShow(walk: Walk, sql: Uint8Array): void {
  const scanner = walk.scanner;
  scanner.next();
  while (scanner.kind === NAME && QUALIFIERS.has(scanner.word)) scanner.next();
  const what = scanner.kind === NAME ? scanner.word : 0;
  if (TELLING.has(what)) walk.readsPrevious = true;
  else if (!READING.has(what)) walk.leave("show");
  if (what === W["processlist"]) walk.readsConnectionId = true;
  if (what === W["variables"]) {
    let kind: number = scanner.next();
    let telling = true;
    if (kind === NAME && scanner.word === W["like"]) {
      kind = scanner.next();
      if (kind === STRING) telling = CHANGING.some((name) => matches(name, sql, scanner.start, scanner.end));
    }
    if (telling) walk.readsPrevious = walk.readsConnectionId = true;
  } else if (what !== 0) {
    // SHOW CREATE PROCEDURE, SHOW PROCEDURE STATUS: words that mean something else elsewhere.
    scanner.next();
    if (scanner.kind === NAME && what === W["create"]) scanner.next();
  }
  walk.run(true);
}

/** Whether LIKE with the literal at `start..end` may match a name; a pattern with more than `_` always may. */
function matches(name: string, sql: Uint8Array, start: number, end: number): boolean {
  if (sql[start] !== 0x27 && sql[start] !== 0x22) return true;
  for (let at = start + 1; at < end - 1; at++) {
    const byte = sql[at]!;
    if (byte === 0x25 || byte === 0x5c || byte === 0x27 || byte === 0x22 || byte >= 0x80) return true;
  }
  if (end - start - 2 !== name.length) return false;
  for (let i = 0; i < name.length; i++) {
    const byte = LOWER[sql[start + 1 + i]!];
    if (byte !== 0x5f && byte !== name.charCodeAt(i)) return false;
  }
  return true;
}

/** Stands on EXPLAIN, DESCRIBE or DESC; walks to the end. */
export function readExplain(walk: Walk): void {
  const scanner = walk.scanner;
  scanner.next();
  walk.run(true);
}
