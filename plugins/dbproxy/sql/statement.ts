/**
 * What the lexer finds out about a text of SQL. "Pure" and every other praise must be proven; where the lexer is not sure
 * it says the worse.
 *
 * @module
 */

/** How the server reads texts now; from the session's state. */
export interface SqlMode {
  readonly ansiQuotes: boolean;
  readonly noBackslashEscapes: boolean;
  /** IGNORE_SPACE: a built-in function's name may be parted from its parenthesis. */
  readonly ignoreSpace: boolean;
  /** MariaDB executes `/*M! ` comments, and both have functions of their own. */
  readonly server: "mysql" | "mariadb";
  /** The server's version, as 80036 or 101119: what executable comments are compared with. */
  readonly version: number;
  /** The client's charset can have a quote or a backslash as a second byte (big5, cp932, gbk, gb18030, sjis): everything is opaque. */
  readonly unsafeCharset: boolean;
}

/** One SET of a plain system variable of the session to a literal. */
export interface Assignment {
  /** Lower case: `sql_mode`; `names` and `character_set` stand for SET NAMES and SET CHARACTER SET. */
  readonly name: string;
  /** The literal's text: of a string what is between its quotes (texts with escapes or bytes beyond ASCII are no assignment). */
  readonly value: string;
  /** Of `SET NAMES x COLLATE y`. */
  readonly collation?: string;
}

/** Why a statement may leave, or may have left, something in its session that the server does not report. A metrics label. */
export type Residue =
  | "write"
  | "user_variable"
  | "lock"
  | "function"
  | "last_insert_id"
  | "found_rows"
  | "handler"
  | "role"
  | "temporary_table"
  | "prepare"
  | "call"
  | "transaction"
  | "set"
  | "show"
  | "admin"
  | "load"
  | "opaque";

export interface Statement {
  /**
   * `select`: reads only, and leaves nothing behind (`residue` is empty). `set`: one SET whose every part is in `assignments`.
   * `use`: USE with its schema in `schema`. `kill`: KILL with its target in `kill`. `begin`: only opens a transaction.
   * `empty`: nothing but space and comments. `other`: anything else. `several`: more than one statement; also one statement that
   * is no `select` with a comment behind its semicolon, which a server with multi-statements on answers by an OK of its own.
   */
  readonly kind: "select" | "set" | "use" | "kill" | "begin" | "empty" | "other" | "several";
  /**
   * Why its session is no longer known to be clean after it; undefined only for what is proven to leave nothing that the server
   * does not report. By kind: `select`, `empty`, `use` (the schema is reported) and `kill` have none; `set` has `set` and
   * `begin` has `transaction`, for who does not follow the assignments or the status flags; `other` always has one; `several`
   * has none exactly when all its parts are selects.
   */
  readonly residue: Residue | undefined;
  /**
   * Reads what an earlier statement left, or may: user variables, calls of unknown functions and procedures, anything opaque,
   * tables of performance_schema count too; triggers and views are not looked into (FOUND_ROWS(), ROW_COUNT(), LAST_INSERT_ID(), SHOW WARNINGS, @@warning_count, status counters ...).
   */
  readonly readsPrevious: boolean;
  /**
   * Names only replayable variables, with nothing behind its semicolons but space. Only reads session system variables by name (`SELECT @@SESSION.sql_mode`, aliases allowed): their names, lower case; else undefined.
   */
  readonly readsVariables: readonly string[] | undefined;
  readonly assignments: readonly Assignment[];
  readonly schema: string | undefined;
  readonly kill: { readonly id: number; readonly query: boolean } | undefined;
  /** Calls CONNECTION_ID(), or names @@pseudo_thread_id. */
  readonly readsConnectionId: boolean;
  /** Changes what others may rely on: databases, views, routines, triggers, users, roles, global variables. */
  readonly changesCatalogue: boolean;
  /**
   * Of what changes the catalogue: it is a CALL, or concerns tables, views, routines, triggers and events only. No open
   * session is out of date by that (what a procedure may do to global variables is not looked for). Absent or false where
   * one may be.
   */
  readonly sparesSessions?: boolean;
  /** Every identifier of a `select` that may name a table, lower case without quotes and schema; to be compared with the views. Empty else. */
  readonly tables: readonly string[];
}
