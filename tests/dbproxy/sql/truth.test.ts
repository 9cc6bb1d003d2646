import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { analyse } from "../../../plugins/dbproxy/sql/analyse.ts";
import {
  BEHIND_OPERAND,
  CONSTRUCTS,
  CONSTRUCTS_MYSQL,
  PURE_COMMON,
  PURE_MARIADB,
  PURE_MYSQL,
} from "../../../plugins/dbproxy/sql/functions.ts";
import { digestText } from "../../../plugins/dbproxy/sql/digest.ts";
import { DIGESTS } from "./corpus.ts";
import { fingerprint, kinds, type Row, type Server, startServer } from "./servers.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const list = (text: string) => text.trim().split(/\s+/);
const NO_SUCH_FUNCTION = 1305;
const WRONG_ARGUMENTS_FOR_STORED = 1318;

const POINT = "ST_GeomFromText('POINT(1 1)')";
/** Arguments to try until a function takes some. */
const ARGUMENTS = [
  "",
  "1",
  "'a'",
  "1, 2",
  "'a', 'b'",
  "'{}', '$'",
  "1, 2, 3",
  "'a', 'b', 'c'",
  "'a', 1, 1, 'b'",
  "*",
  "'POINT(1 1)'",
  POINT,
  `${POINT}, ${POINT}`,
];
const CLAUSES = ["", " OVER (ORDER BY a)", " OVER ()"];

/** Statements that are not calls of one function. */
const READS = `
SELECT 1
SELECT * FROM t WHERE a IN (1, 2) AND (b = 'x' OR c = 3) ORDER BY a LIMIT 1
SELECT @never
SELECT @@sql_mode, @@session.time_zone AS z
SELECT @@global.max_connections
SELECT t1.a, COUNT(*) FROM t AS t1 LEFT JOIN t t2 USING (a) GROUP BY t1.a HAVING COUNT(*) > 0
SELECT a FROM t UNION ALL SELECT c FROM t
SELECT a FROM t WHERE EXISTS (SELECT 1 FROM t x WHERE x.a = t.c)
WITH r AS (SELECT 1 AS n) SELECT * FROM r
SELECT CASE WHEN a = 1 THEN (2) ELSE (3) END FROM t
SELECT /* c */ 1 -- end
SELECT CAST(a AS CHAR(3)), CONVERT(b USING utf8mb4), EXTRACT(YEAR FROM NOW()) FROM t
SELECT a, ROW_NUMBER() OVER (PARTITION BY c ORDER BY a) FROM t
SELECT LAST_INSERT_ID(), ROW_COUNT(), FOUND_ROWS(), CONNECTION_ID()
SELECT BENCHMARK(10, SHA2('a', 256)), SLEEP(0), RAND(), RAND(1), UUID(), UUID_SHORT()
SELECT IS_FREE_LOCK('probe'), IS_USED_LOCK('probe')
SELECT 1/0
SELECT 'a' + 1
VALUES (1), (2)
VALUES ROW(1, 2), ROW(3, 4)
TABLE t
(SELECT 1)
EXPLAIN SELECT * FROM t
DESCRIBE t
DESC t a
EXPLAIN t
SHOW TABLES
SHOW FULL TABLES LIKE 't%'
SHOW COLUMNS FROM t
SHOW INDEX FROM t
SHOW CREATE TABLE t
SHOW CREATE DATABASE lexer
SHOW TABLE STATUS
SHOW DATABASES
SHOW VARIABLES LIKE 'sql_mode'
SHOW SESSION STATUS LIKE 'Threads%'
SHOW WARNINGS
SHOW ERRORS
SHOW COUNT(*) WARNINGS
SHOW PROCESSLIST
SHOW ENGINES
SHOW PLUGINS
SHOW CHARACTER SET
SHOW COLLATION
SHOW GRANTS
SHOW PRIVILEGES
SHOW TRIGGERS
SHOW EVENTS
SHOW FUNCTION STATUS
SHOW PROCEDURE STATUS
SHOW OPEN TABLES
`.trim().split("\n");

for (const kind of kinds) {
  describe(`what ${kind} itself says`, () => {
    let server: Server;
    const pure = [...list(PURE_COMMON), ...list(kind === "mysql" ? PURE_MYSQL : PURE_MARIADB)];

    beforeAll(async () => {
      server = await startServer(kind);
    });
    afterAll(() => server?.stop());

    test("every pure function is known to it, and calling it leaves nothing", async () => {
      const fresh = await server.session();
      const before = await fingerprint(fresh, kind);
      await fresh.end();
      const session = await server.session();
      const unknown: string[] = [];
      const uncalled: string[] = [];
      for (const name of pure) {
        let called = false;
        for (const args of ARGUMENTS) {
          for (const clause of CLAUSES) {
            if (name === "sleep" || name === "benchmark" || called) continue;
            const sql = `SELECT ${name}(${args})${clause} FROM t`;
            if (analyse(bytes(sql), server.mode).kind !== "select") continue;
            const answer = await session.rows(sql);
            if (answer === NO_SUCH_FUNCTION) unknown.push(name);
            called = typeof answer !== "number";
          }
        }
        if (!called) uncalled.push(name);
      }
      expect([...new Set(unknown)]).toEqual([]);
      // Most of them run with such arguments; the others have a grammar of their own, or want other shapes.
      expect(uncalled.length).toBeLessThan(pure.length / 2);
      expect(await fingerprint(session, kind)).toEqual(before);
      await session.end();
    });

    test("a stored function that bears a trusted word's name is not called by it", async () => {
      const session = await server.session();
      const called: string[] = [];
      for (const name of new Set([...pure, ...list(CONSTRUCTS), ...list(CONSTRUCTS_MYSQL), ...list(BEHIND_OPERAND)])) {
        const made = await session.rows(
          `CREATE FUNCTION \`${name}\`() RETURNS INT NO SQL BEGIN SET @called = 1; RETURN 1; END`,
        );
        if (typeof made === "number") throw new Error(`Cannot make the function ${name}: error ${made}`);
        for (const args of ["()", "(1)", " ()", " (1)", "(1, 2)"]) {
          for (const sql of [`SELECT ${name}${args}`, `SELECT 1 ${name}${args}`, `SELECT (1) ${name}${args}`]) {
            if (analyse(bytes(sql), server.mode).kind !== "select") continue;
            const answer = await session.rows(sql);
            if (answer === WRONG_ARGUMENTS_FOR_STORED) called.push(sql);
          }
        }
        const [row] = await session.rows("SELECT @called c") as Row[];
        if (row!["c"] !== null) called.push(name);
        await session.rows("SET @called = NULL");
        await session.rows(`DROP FUNCTION IF EXISTS \`${name}\``);
      }
      expect(called).toEqual([]);
      await session.end();
    });

    test("what is called a select leaves nothing", async () => {
      const fresh = await server.session();
      const before = await fingerprint(fresh, kind);
      await fresh.end();
      let ran = 0;
      for (const sql of READS) {
        expect([sql, analyse(bytes(sql), server.mode).kind]).toEqual([sql, "select"]);
        const session = await server.session();
        if (typeof await session.rows(sql) !== "number") ran++;
        expect([sql, await fingerprint(session, kind)]).toEqual([sql, before]);
        await session.end();
      }
      expect(ran).toBeGreaterThan(READS.length - 6);
    });

    test("executable comments run where the lexer says so", async () => {
      const session = await server.session();
      for (
        const version of [
          "",
          "40101",
          "50000",
          "50699",
          "50700",
          "80036",
          "90000",
          "99999",
          "100100",
          "100905",
          "101119",
          "101120",
          "110000",
          "080036",
          "M",
          "M100100",
          "M120000",
        ]
      ) {
        const maria = version.startsWith("M");
        const sql = `SELECT 1 /*${maria ? "M" : ""}!${version.replace("M", "")} INTO @probe */`;
        await session.rows("SET @probe = NULL");
        await session.rows(sql);
        const [row] = await session.rows("SELECT @probe p") as Row[];
        expect([sql, analyse(bytes(sql), server.mode).residue]).toEqual([
          sql,
          row!["p"] === null ? undefined : "user_variable",
        ]);
      }
      await session.end();
    });

    if (kind === "mysql") {
      test("the digests are its own", async () => {
        const session = await server.session();
        const different: string[] = [];
        for (const [sql] of DIGESTS) {
          const quoted = sql.replaceAll("\\", "\\\\").replaceAll("'", "''");
          const answer = await session.rows(`SELECT STATEMENT_DIGEST_TEXT('${quoted}') d`);
          if (typeof answer === "number") throw new Error(`The server refuses ${sql}: error ${answer}`);
          if (answer[0]!["d"] !== digestText(bytes(sql), server.mode)) different.push(sql);
        }
        expect(different).toEqual([]);
        await session.end();
      });
    }
  });
}
