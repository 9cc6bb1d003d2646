import { expect, test } from "bun:test";
import { neverCapped } from "../../../plugins/dbproxy/session/never_capped.ts";
import { digestText } from "../../../plugins/dbproxy/sql/digest.ts";
import type { SqlMode } from "../../../plugins/dbproxy/sql/statement.ts";

const mode: SqlMode = {
  ansiQuotes: false,
  noBackslashEscapes: false,
  ignoreSpace: false,
  server: "mariadb",
  version: 101119,
  // What else is known of a text is unknown then.
  unsafeCharset: true,
};
const never = (sql: string) => neverCapped(digestText(new TextEncoder().encode(sql), mode));

test("what ends a transaction, gives back a lock or sets a setting is never held up", () => {
  const all = [
    "commit",
    "/* bye */ COMMIT;",
    "ROLLBACK TO SAVEPOINT a",
    "rollback and chain",
    "SAVEPOINT a",
    "RELEASE SAVEPOINT a",
    "BEGIN",
    "START TRANSACTION READ ONLY",
    "XA COMMIT 'x'",
    "UNLOCK TABLES",
    "SELECT RELEASE_LOCK('a')",
    "select release_lock(?) as done",
    "DO RELEASE_ALL_LOCKS()",
    "SET autocommit = 1",
    "SET NAMES utf8mb4",
    "SET @a = 1, sql_mode = 'ANSI'",
    "USE shop",
    "KILL QUERY 7",
    "DEALLOCATE PREPARE s",
  ];
  for (const sql of all) expect([sql, never(sql)]).toEqual([sql, true]);
});

test("whatever else may be work, is", () => {
  const all = [
    "SELECT 1",
    "SELECT RELEASE_LOCK('a') FROM t",
    "SELECT RELEASE_LOCK('a'), GET_LOCK('b', 9)",
    "SELECT GET_LOCK('a', 9)",
    "COMMIT; SELECT 1",
    "BEGIN NOT ATOMIC SELECT 1; END",
    "SET STATEMENT max_statement_time = 1 FOR SELECT 1",
    "SET STATEMENT timestamp = 1 FOR SELECT * FROM t",
    "SET STATEMENT hot.key_buffer_size = 1 FOR SELECT * FROM t",
    "SET @a = (SELECT 1)",
    "SET @a = f(1)",
    "LOCK TABLES t READ",
    "CALL p()",
    "EXECUTE s",
    "INSERT INTO t VALUES (1)",
    "commitments",
  ];
  for (const sql of all) expect([sql, never(sql)]).toEqual([sql, false]);
});
