/**
 * What a text of SQL does to its session.
 *
 * @module
 */
import { CLASS, SPACE } from "./chars.ts";
import { readExplain, readShow } from "./heads.ts";
import { END, NAME, NUMBER, QUOTED, STRING, SYMBOL, SYSTEM_VARIABLE } from "./scanner.ts";
import { parseSet } from "./set.ts";
import type { Assignment, Residue, SqlMode, Statement } from "./statement.ts";
import { isReplayable } from "./variables.ts";
import { W } from "./vocabulary.ts";
import { identifier, Walk } from "./walk.ts";
import { words } from "./words.ts";

const OPEN = 0x28, COMMA = 0x2c, DOT = 0x2e, SEMICOLON = 0x3b;
const NONE: readonly never[] = Object.freeze([]);
/** Texts of more statements are not looked through. */
const MOST_PARTS = 100;
const walk = new Walk();

const UNKNOWN: Statement = Object.freeze({
  kind: "other",
  residue: "opaque",
  readsPrevious: true,
  readsVariables: undefined,
  assignments: NONE,
  schema: undefined,
  kill: undefined,
  readsConnectionId: true,
  changesCatalogue: true,
  tables: NONE,
});
const EMPTY: Statement = Object.freeze({
  ...UNKNOWN,
  kind: "empty",
  residue: undefined,
  readsPrevious: false,
  readsConnectionId: false,
  changesCatalogue: false,
});

/** Statements by their first word, with why and whether others may notice. */
const HEADS: ReadonlyMap<number, readonly [Residue, boolean]> = new Map(
  ([
    ["insert replace update delete", "write", false],
    ["truncate", "write", false],
    ["load import", "load", true],
    ["call", "call", true],
    ["do", "function", false],
    ["prepare", "prepare", true],
    ["execute", "prepare", true],
    ["deallocate", "prepare", false],
    ["lock unlock", "lock", false],
    ["backup", "lock", false],
    ["handler", "handler", false],
    ["commit rollback savepoint release xa", "transaction", false],
    [
      "analyze optimize repair check checksum cache change binlog purge shutdown restart clone stop signal",
      "admin",
      false,
    ],
    ["help", "show", false],
    ["get", "user_variable", false],
    ["flush", "lock", true],
    ["create alter drop rename grant revoke install uninstall reset", "admin", true],
  ] as const).flatMap(([heads, residue, catalogue]) =>
    heads.split(" ").map((head) => [W[head]!, [residue, catalogue] as const] as const)
  ),
);

/** What is no one's session: a new one is the same with it or without it. */
const OBJECTS: ReadonlySet<number> = new Set(words("table index unique view procedure function trigger event"));
const DEFINING: ReadonlySet<number> = new Set(words("create alter drop rename"));

/** Finds out what a text does to its session. Never throws; what it cannot read is `other` with the residue `opaque`. */
export function analyse(sql: Uint8Array, mode: SqlMode): Statement {
  if (mode.unsafeCharset) return UNKNOWN;
  walk.reset(sql, mode);
  const scanner = walk.scanner;
  let first: Statement | undefined;
  let several = false;
  let parts = 0;
  scanner.next();
  for (;;) {
    while (scanner.kind === SYMBOL && scanner.code === SEMICOLON) scanner.next();
    if (scanner.kind === END) break;
    const statement = one(sql, mode);
    if (first) {
      several = true;
      first = both(first, statement);
    } else first = statement;
    // Nothing can be said of the rest.
    if (walk.opaque) return first;
    if (++parts > MOST_PARTS) return UNKNOWN;
    if (scanner.kind === END) break;
    if (!several && !onlySemicolons(sql, scanner.end)) first = commented(first);
  }
  return first ?? EMPTY;
}

/** Whether nothing but space and semicolons follows: what the servers cut off before they read a text. */
function onlySemicolons(sql: Uint8Array, at: number): boolean {
  for (; at < sql.length; at++) if (sql[at] !== SEMICOLON && CLASS[sql[at]!] !== SPACE) return false;
  return true;
}

/** A comment behind a semicolon has an OK of its own where multi-statements are on, so that nobody else can answer the text. */
function commented(statement: Statement): Statement {
  if (statement.kind === "select") {
    return statement.readsVariables ? { ...statement, readsVariables: undefined } : statement;
  }
  if (statement.kind === "other") return statement;
  return { ...both(statement, EMPTY), schema: undefined };
}

function both(a: Statement, b: Statement): Statement {
  const harmless = (s: Statement) => s.kind === "select" || s.kind === "empty" || s.kind === "several";
  return {
    kind: "several",
    residue: a.residue ?? b.residue ?? (harmless(a) && harmless(b) ? undefined : "opaque"),
    readsPrevious: a.readsPrevious || b.readsPrevious,
    readsVariables: undefined,
    assignments: NONE,
    schema: undefined,
    kill: undefined,
    readsConnectionId: a.readsConnectionId || b.readsConnectionId,
    changesCatalogue: a.changesCatalogue || b.changesCatalogue,
    sparesSessions: [a, b].every((s) => !s.changesCatalogue || s.sparesSessions === true),
    tables: a.tables.length + b.tables.length === 0 ? NONE : [...a.tables, ...b.tables],
  };
}

interface Extra {
  readonly readsVariables?: readonly string[] | undefined;
  readonly assignments?: readonly Assignment[];
  readonly schema?: string;
  readonly kill?: { readonly id: number; readonly query: boolean };
  readonly changesCatalogue?: boolean;
  readonly sparesSessions?: boolean;
}

function made(kind: Statement["kind"], residue: Residue | undefined, extra: Extra): Statement {
  return {
    kind,
    residue,
    readsPrevious: walk.readsPrevious,
    readsVariables: extra.readsVariables,
    assignments: extra.assignments ?? NONE,
    schema: extra.schema,
    kill: extra.kill,
    readsConnectionId: walk.readsConnectionId,
    changesCatalogue: extra.changesCatalogue ?? false,
    sparesSessions: extra.sparesSessions ?? false,
    tables: kind === "select" && walk.tables.length > 0 ? walk.tables : NONE,
  };
}

/** What a walk over something that should only read has found. */
function read(readsVariables?: readonly string[]): Statement {
  const residue = walk.residue;
  if (residue === undefined) return made("select", undefined, { readsVariables });
  return made("other", residue, { changesCatalogue: walk.opaque });
}

function other(residue: Residue, changesCatalogue: boolean, spares = false): Statement {
  walk.run(false);
  if (residue === "opaque" || residue === "call" || residue === "prepare") {
    walk.readsPrevious = walk.readsConnectionId = true;
  }
  return made("other", walk.opaque ? "opaque" : residue, {
    changesCatalogue: changesCatalogue || walk.opaque,
    sparesSessions: spares && !walk.opaque,
  });
}

/** From its first token to its last; the scanner then stands on a semicolon, the end, or what cannot be read. */
function one(sql: Uint8Array, mode: SqlMode): Statement {
  const scanner = walk.scanner;
  walk.begin();
  if (scanner.kind === SYMBOL && scanner.code === OPEN) {
    walk.run(true);
    return read();
  }
  if (scanner.kind !== NAME) return other("opaque", true);
  const head = scanner.word;
  switch (head) {
    case W["select"]: {
      const from = scanner.start;
      walk.run(true);
      const end = scanner.start;
      const only = walk.residue === undefined && !walk.readsPrevious && walk.tables.length === 0;
      return read(only ? variables(sql, from, end, mode) : undefined);
    }
    case W["with"]:
    case W["values"]:
      walk.run(true);
      return read();
    case W["table"]:
      scanner.next();
      walk.run(true, 1);
      return read();
    case W["explain"]:
    case W["describe"]:
    case W["desc"]:
      readExplain(walk);
      return read();
    case W["show"]:
      readShow(walk, sql);
      return read();
    case W["set"]:
      return set(sql, mode);
    case W["use"]:
      return use(sql);
    case W["kill"]:
      return kill(sql);
    case W["begin"]:
    case W["start"]:
      return begin(head!);
  }
  const known = HEADS.get(head);
  if (!known) return other("opaque", true);
  let [residue, catalogue] = known;
  let spares = residue === "call";
  if (residue === "admin") {
    scanner.next();
    const temporary = scanner.kind === NAME && (scanner.word === W["temporary"]);
    if (temporary) residue = "temporary_table";
    const plain = head === W["create"] || head === W["drop"];
    if (temporary || (plain && (scanner.word === W["table"] || scanner.word === W["index"]))) catalogue = false;
    spares = DEFINING.has(head) && scanner.kind === NAME && OBJECTS.has(scanner.word);
  }
  return other(residue, catalogue, spares);
}

function set(sql: Uint8Array, mode: SqlMode): Statement {
  const parsed = parseSet(walk, sql, mode);
  if (parsed.assignments) return made("set", "set", { assignments: parsed.assignments });
  walk.run(false);
  const residue = walk.opaque ? "opaque" : parsed.residue;
  return made("other", residue, { changesCatalogue: parsed.changesCatalogue || walk.opaque });
}

function ends(): boolean {
  const scanner = walk.scanner;
  return scanner.kind === END || (scanner.kind === SYMBOL && scanner.code === SEMICOLON);
}

function use(sql: Uint8Array): Statement {
  const scanner = walk.scanner;
  const kind = scanner.next();
  if (kind !== NAME && kind !== QUOTED) return other("opaque", true);
  const [start, end] = [scanner.start, scanner.end];
  for (let at = start; at < end; at++) if (sql[at]! >= 0x80) return other("opaque", true);
  scanner.next();
  if (!ends()) return other("opaque", true);
  return made("use", undefined, { schema: identifier(sql, start, end) });
}

function kill(sql: Uint8Array): Statement {
  const scanner = walk.scanner;
  scanner.next();
  if (scanner.word === W["hard"] || scanner.word === W["soft"]) scanner.next();
  const query = scanner.word === W["query"];
  if (query || scanner.word === W["connection"]) scanner.next();
  let id = scanner.kind === NUMBER && scanner.end - scanner.start <= 15 ? 0 : NaN;
  for (let at = scanner.start; at < scanner.end && id === id; at++) {
    const digit = sql[at]! - 0x30;
    id = digit >= 0 && digit <= 9 ? id * 10 + digit : NaN;
  }
  if (id !== id) return other("admin", false);
  scanner.next();
  return ends() ? made("kill", undefined, { kill: { id, query } }) : other("admin", false);
}

function begin(head: number): Statement {
  const scanner = walk.scanner;
  scanner.next();
  if (head === W["begin"]) {
    if (scanner.word === W["work"]) scanner.next();
    // Else it may be a block of MariaDB's, with any statements in it.
    return ends() ? made("begin", "transaction", {}) : other("opaque", true);
  }
  if (scanner.word !== W["transaction"]) return other("admin", false);
  while (scanner.next() === NAME);
  while (scanner.kind === NAME || (scanner.kind === SYMBOL && scanner.code === COMMA)) scanner.next();
  return ends() ? made("begin", "transaction", {}) : other("opaque", true);
}

/** The names in a `SELECT @@x, @@SESSION.y AS z` that holds nothing else; undefined for every other. */
function variables(sql: Uint8Array, from: number, end: number, mode: SqlMode): readonly string[] | undefined {
  const scanner = walk.scanner;
  const stop = scanner.kind;
  scanner.reset(sql.subarray(from, end), mode);
  const names: string[] = [];
  const at = (): number => scanner.next();
  const here = () => scanner.end;
  const name = () => identifier(sql, from + scanner.start, from + scanner.end).toLowerCase();
  let good = true;
  at();
  do {
    const marked = at() === SYSTEM_VARIABLE;
    const behind = here();
    if (!marked || at() !== NAME || scanner.start !== behind) {
      good = false;
      break;
    }
    let variable = name();
    at();
    if (scanner.kind === SYMBOL && scanner.code === DOT) {
      if ((variable !== "session" && variable !== "local") || at() !== NAME) {
        good = false;
        break;
      }
      variable = name();
      at();
    }
    if (!isReplayable(variable, mode.server)) good = false;
    names.push(variable);
    if (scanner.kind === NAME && scanner.word === W["as"]) {
      at();
      if (scanner.kind !== NAME && scanner.kind !== QUOTED && scanner.kind !== STRING) good = false;
      at();
    } else if (scanner.kind === QUOTED || scanner.kind === STRING || (scanner.kind === NAME && !clause(scanner.word))) {
      at();
    }
  } while (good && scanner.kind === SYMBOL && scanner.code === COMMA);
  good &&= scanner.kind === END;
  // Back to where the statement ended.
  scanner.reset(sql, mode);
  scanner.kind = stop;
  scanner.start = end;
  scanner.end = stop === END ? end : end + 1;
  scanner.code = SEMICOLON;
  return good ? names : undefined;
}

function clause(word: number): boolean {
  return word === W["from"] || word === W["for"] || word === W["lock"] || word === W["into"];
}
