/**
 * The walk through one statement that finds everything that may be left behind, or that was left before. It knows no grammar
 * beyond what stands before a parenthesis and in a list of tables; where a word could be harmless or not it is not.
 *
 * @module
 */
import { CLASS, LOWER, SPACE as SPACE_BYTE } from "./chars.ts";
import {
  END,
  HINT,
  NAME,
  NUMBER,
  OPAQUE,
  QUOTED,
  Scanner,
  STRING,
  SYMBOL,
  SYSTEM_VARIABLE,
  USER_VARIABLE,
} from "./scanner.ts";
import type { Residue, SqlMode } from "./statement.ts";
import {
  ACT,
  ACTS,
  CALL,
  CALLS,
  CONSTRUCT,
  CONSTRUCT_BEHIND,
  CONSTRUCT_ON_MYSQL,
  FLAGS,
  PURE_ON_MARIADB,
  PURE_ON_MYSQL,
  PURE_ON_MYSQL_8,
  SPACE,
} from "./vocabulary.ts";
import { word as wordOf, words } from "./words.ts";

const OPEN = 0x28, CLOSE = 0x29, COMMA = 0x2c, DOT = 0x2e, COLON = 0x3a, SEMICOLON = 0x3b, BRACE = 0x7b;
const [FOR, SHARE, CONNECTION, VALUE, SELECT] = ["for", "share", "connection", "value", "select"].map(wordOf);
const UTF8 = new TextDecoder();

/** Variables that say what an earlier statement did. */
const TELLING = new Set(words(
  "identity last_insert_id insert_id warning_count error_count rand_seed1 rand_seed2 timestamp last_gtid in_transaction " +
    "gtid_owned gtid_next statement_id profiling",
));
const PSEUDO_THREAD_ID = words("pseudo_thread_id")[0]!;
/** Tables of the servers' own that say what a session did; compared in any part of a table's name. */
const TELLING_TABLES = new Set(
  ("performance_schema sys session_status session_variables user_variables profiling optimizer_trace " +
    "innodb_session_temp_tablespaces innodb_temp_table_info innodb_trx processlist user_variables_by_thread " +
    "prepared_statements_instances metadata_locks status_by_thread variables_by_thread").split(" "),
);

/** Where a walk is in relation to a list of tables, one for each open parenthesis. */
const NOWHERE = 0, TABLE = 1, BEHIND_TABLE = 2, CONDITION = 3;
const DEPTH = 64;

/** An identifier's text, quotes undone. */
export function identifier(sql: Uint8Array, start: number, end: number): string {
  const first = sql[start];
  if (first !== 0x60 && first !== 0x22) return UTF8.decode(sql.subarray(start, end));
  const quote = String.fromCharCode(first);
  return UTF8.decode(sql.subarray(start + 1, end - 1)).replaceAll(quote + quote, quote);
}

export class Walk {
  readonly scanner: Scanner = new Scanner();
  residue: Residue | undefined;
  readsPrevious = false;
  readsConnectionId = false;
  opaque = false;
  tables: string[] = [];

  #sql: Uint8Array = new Uint8Array(0);
  #pure = 0;
  #construct = 0;
  #ignoreSpace = false;
  readonly #places = new Uint8Array(DEPTH);

  reset(sql: Uint8Array, mode: SqlMode): void {
    this.scanner.reset(sql, mode);
    this.#sql = sql;
    const mariadb = mode.server === "mariadb";
    this.#pure = mariadb ? PURE_ON_MARIADB : mode.version < 90_000 ? PURE_ON_MYSQL | PURE_ON_MYSQL_8 : PURE_ON_MYSQL;
    this.#construct = mariadb ? CONSTRUCT : CONSTRUCT | CONSTRUCT_ON_MYSQL;
    this.#ignoreSpace = mode.ignoreSpace;
  }

  begin(): void {
    this.residue = undefined;
    this.readsPrevious = this.readsConnectionId = this.opaque = false;
    this.tables = [];
  }

  leave(residue: Residue): void {
    this.residue ??= residue;
  }

  /** From the current token to the statement's end; `reading` judges calls and collects tables. */
  run(reading: boolean, place: number = NOWHERE): void {
    const scanner = this.scanner;
    const places = this.#places;
    let depth = 0;
    places[0] = place;
    // The token before, and the one before that.
    let last = SYMBOL, lastCode = 0, lastWord = 0, lastEnd = -1;
    let dotted = false;
    /** Whether the last token but one ends an operand. */
    let behind = false;
    let system = false;
    for (let kind = scanner.kind; kind !== END; kind = scanner.next()) {
      const start = scanner.start;
      const word = scanner.word;
      const code = kind === SYMBOL ? scanner.code : 0;
      if (last === NAME && code !== OPEN && !dotted && ACTS[lastWord] === ACT.MAY_WRITE) this.leave("write");
      const behindDot = last === SYMBOL && lastCode === DOT;
      switch (kind) {
        case SYMBOL:
          switch (code) {
            case SEMICOLON:
              return;
            case OPEN:
              if (reading) {
                if (last === QUOTED) this.#unknown();
                else if (last === NAME) this.#call(lastWord, dotted, behind, lastEnd, start);
              } else if (last === NAME) this.#callee(lastWord, start);
              if (++depth >= DEPTH) {
                this.#blind();
                return;
              }
              places[depth] = places[depth - 1] === TABLE ? TABLE : NOWHERE;
              break;
            case CLOSE:
              if (depth > 0) depth--;
              if (places[depth] === TABLE) places[depth] = BEHIND_TABLE;
              break;
            case COMMA:
              if (places[depth]! >= BEHIND_TABLE) places[depth] = TABLE;
              break;
            case COLON:
              this.leave("user_variable");
              break;
            case BRACE:
              // An ODBC escape: {d '...'}, {fn f()}, {call p()}.
              this.#unknown();
              break;
          }
          break;
        case NAME: {
          const name = behindDot && start === lastEnd;
          if (system) {
            if (TELLING.has(word)) this.readsPrevious = true;
            if (word === PSEUDO_THREAD_ID) this.readsConnectionId = true;
          }
          const act = ACTS[word]!;
          if (!name && act !== 0) {
            if (this.#act(act, lastWord, places, depth)) break;
          } else if (act === ACT.SEQUENCE) this.leave("function");
          if (last === NAME && lastWord === FOR && word === SHARE) this.leave("lock");
          if (last === NAME && lastWord === FOR && word === CONNECTION) this.leave("show");
          if (reading && places[depth]! === TABLE) this.#table(places, depth, start);
          else if (reading && behindDot && places[depth] === BEHIND_TABLE) this.#push(start);
          break;
        }
        case QUOTED:
          if (system && (last === SYSTEM_VARIABLE || behindDot)) this.readsPrevious = this.readsConnectionId = true;
          if (reading && places[depth] === TABLE) this.#table(places, depth, start);
          else if (reading && behindDot && places[depth] === BEHIND_TABLE) this.#push(start);
          break;
        case USER_VARIABLE:
          this.readsPrevious = true;
          break;
        case SYSTEM_VARIABLE:
          system = true;
          break;
        case HINT:
          this.#hint(start, scanner.end);
          break;
        case OPAQUE:
          this.#blind();
          return;
        case STRING:
        case NUMBER:
          break;
      }
      dotted = behindDot;
      behind = last === STRING || last === NUMBER || last === USER_VARIABLE || (last === SYMBOL && lastCode === CLOSE);
      last = kind;
      lastCode = code;
      lastWord = word;
      lastEnd = scanner.end;
    }
    if (last === NAME && !dotted && ACTS[lastWord] === ACT.MAY_WRITE) this.leave("write");
  }

  #blind(): void {
    this.opaque = true;
    this.residue = "opaque";
    this.readsPrevious = this.readsConnectionId = true;
  }

  #unknown(): void {
    this.leave("function");
    this.readsPrevious = this.readsConnectionId = true;
  }

  /** True where the word is surely no table. */
  #act(act: number, lastWord: number, places: Uint8Array, depth: number): boolean {
    switch (act) {
      case ACT.INTO:
        this.leave("user_variable");
        return true;
      case ACT.WRITES:
        this.leave(lastWord === FOR ? "lock" : "write");
        return true;
      case ACT.FOR:
        if (lastWord === VALUE) this.leave("function");
        return true;
      case ACT.LOCK:
        this.leave("lock");
        return true;
      case ACT.FOUND_ROWS_OPTION:
        this.leave("found_rows");
        return true;
      case ACT.PROCEDURE:
        this.leave("opaque");
        return true;
      case ACT.SEQUENCE:
        this.leave("function");
        return false;
      case ACT.FROM:
      case ACT.JOIN:
        places[depth] = TABLE;
        return true;
      case ACT.TABLE_DONE:
        if (places[depth] !== NOWHERE) places[depth] = CONDITION;
        return true;
      case ACT.CLAUSE:
        // Some of these words are no keywords in older servers.
        if (places[depth] === TABLE && this.scanner.word !== SELECT) this.#push(this.scanner.start);
        places[depth] = NOWHERE;
        return true;
      default:
        return false;
    }
  }

  #call(word: number, dotted: boolean, behind: boolean, nameEnd: number, parenthesis: number): void {
    const flags = FLAGS[word]!;
    if (dotted) return this.#unknown();
    if ((flags & this.#pure) === 0) {
      if ((flags & this.#construct) !== 0 || (behind && (flags & CONSTRUCT_BEHIND) !== 0)) return;
      if (CALLS[word] === CALL.LOCK) return this.leave("lock");
      return this.#unknown();
    }
    if ((flags & SPACE) !== 0 && nameEnd !== parenthesis && !(this.#ignoreSpace && this.#blank(nameEnd, parenthesis))) {
      return this.#unknown();
    }
    this.#callee(word, parenthesis);
  }

  #callee(word: number, parenthesis: number): void {
    switch (CALLS[word]) {
      case CALL.READS_PREVIOUS:
        this.readsPrevious = true;
        break;
      case CALL.LAST_INSERT_ID:
        this.readsPrevious = true;
        if (!this.#empty(parenthesis)) this.leave("last_insert_id");
        break;
      case CALL.CONNECTION_ID:
        this.readsConnectionId = true;
        break;
    }
  }

  /** Whether a closing parenthesis follows at once; with a comment between it is not believed. */
  #empty(parenthesis: number): boolean {
    let at = parenthesis + 1;
    while (CLASS[this.#sql[at] ?? 0] === SPACE_BYTE) at++;
    return this.#sql[at] === CLOSE;
  }

  #blank(from: number, to: number): boolean {
    for (let at = from; at < to; at++) if (CLASS[this.#sql[at]!] !== SPACE_BYTE) return false;
    return true;
  }

  #table(places: Uint8Array, depth: number, start: number): void {
    places[depth] = BEHIND_TABLE;
    this.#push(start);
  }

  #push(start: number): void {
    const name = identifier(this.#sql, start, this.scanner.end).toLowerCase();
    // Which letters those bytes are is not known here.
    for (let i = 0; i < name.length; i++) if (name.charCodeAt(i) >= 0x80) return this.#blind();
    if (TELLING_TABLES.has(name)) this.readsPrevious = this.readsConnectionId = true;
    this.tables.push(name);
  }

  /** A hint may set variables (restored by the server), and may end elsewhere when it holds quotes. */
  #hint(start: number, end: number): void {
    const sql = this.#sql;
    for (let at = start + 3; at < end - 2; at++) {
      const byte = sql[at]!;
      if (byte === 0x22 || byte === 0x27 || byte === 0x60 || byte >= 0x80) return this.#blind();
      if (byte === 0x3d) this.leave("set");
      if (LOWER[byte] === 0x72 && LOWER[sql[at + 1]!] === 0x65 && LOWER[sql[at + 2]!] === 0x73) this.leave("set");
    }
  }
}
