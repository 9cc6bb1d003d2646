/**
 * What one session leaves, and the next on the same backend must not find. The numbers are those of the reports the cases
 * were taken from; each runs direct too, which tells what is right.
 *
 * @module
 */
import { expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { forEachServer } from "../../support/db_matrix.ts";
import { counter, errorCode, leave, look, session, visit } from "../../support/db_sessions.ts";
import { php } from "../../support/php_client.ts";
import { FLAGS, RawClient } from "../../support/raw_client.ts";
import { allowSlowTests } from "../../support/wait.ts";

allowSlowTests(60_000);

const init = [
  "CREATE TABLE test.t (id INT AUTO_INCREMENT PRIMARY KEY, a VARCHAR(40)) ENGINE=InnoDB",
  "INSERT INTO test.t(a) VALUES ('one'), ('two')",
  "CREATE DATABASE a",
  "CREATE ROLE r1",
  "GRANT r1 TO 'tester'@'127.0.0.1', 'tester'@'localhost'",
];
/** MariaDB alone takes a charset for new sessions from the login; on both it is not the server's own. */
const latin1 = { charset: 8 };

forEachServer("a pool of one", { database: { init }, proxy: { size: 1 }, strategies: ["smart", "always"] }, (way) => {
  const cases: readonly (readonly [name: string, statements: readonly string[], sql: string])[] = [
    ["T1 a session variable", ["SET SESSION group_concat_max_len=7"], "SELECT @@group_concat_max_len"],
    ["T2 safe updates", ["SET sql_safe_updates=1"], "SELECT @@sql_safe_updates"],
    ["T4 the time zone", ["SET time_zone='+05:00'"], "SELECT @@time_zone"],
    ["T4 the SQL mode", ["SET sql_mode='ANSI'"], "SELECT @@sql_mode"],
    ["T5 a frozen clock", ["SET timestamp=1"], "SELECT NOW()>'2020-01-01'"],
    ["T6 a user variable", ["SET @secret='x'"], "SELECT @secret"],
    ["T6 a user variable assigned in a SELECT", ["SELECT @secret:='x'"], "SELECT @secret"],
    ["T6 a user variable by SELECT INTO", ["SELECT 'x' INTO @secret"], "SELECT @secret"],
    ["T16 a role", ["SET ROLE r1"], "SELECT CURRENT_ROLE()"],
    ["T16 a role behind a write", ["INSERT INTO test.t(a) VALUES ('x')", "SET ROLE r1"], "SELECT CURRENT_ROLE()"],
    ["a schema that no tracker tells of", ["SET session_track_schema=OFF", "USE a"], "SELECT DATABASE()"],
    ["the want of a schema", ["CREATE DATABASE gone", "USE gone", "DROP DATABASE gone"], "SELECT DATABASE()"],
    ["T34 a named lock", ["SELECT GET_LOCK('leak', 0)"], "SELECT GET_LOCK('leak', 5)"],
  ];
  for (const [name, statements, sql] of cases) {
    test(`${name} does not outlive its session`, async () => {
      const fresh = await look(way.database, sql);
      await leave(way.place, statements);
      expect(await look(way.place, sql)).toBe(fresh);
    });
  }

  test("T3 a timeout is applied and read back", async () => {
    expect(
      await visit(way.place, async (client) => {
        await client.run("SET wait_timeout=33");
        return await client.one("SELECT @@wait_timeout");
      }),
    ).toBe("33");
  });

  test("T5 the clock moves again after SET timestamp=DEFAULT", async () => {
    const [frozen, moving] = await visit(way.place, async (client) => {
      await client.run("SET timestamp=1");
      const first = await client.one("SELECT UNIX_TIMESTAMP()");
      await client.run("SET timestamp=DEFAULT");
      return [first, await client.one("SELECT UNIX_TIMESTAMP()>1700000000")];
    });
    expect([frozen, moving]).toEqual(["1", "1"]);
  });

  for (const open of ["BEGIN", "SET autocommit=0"]) {
    for (const end of ["QUIT", "a cut connection"]) {
      test(`T7 T33 a transaction opened by ${open} is rolled back at ${end}`, async () => {
        const client = await session(way.place);
        await client.run(open, "INSERT INTO t(a) VALUES ('open')", "UPDATE t SET a='locked' WHERE id=1");
        if (end === "QUIT") await client.quit();
        else client.destroy();
        // It waits for the row lock when the transaction is still there.
        await leave(way.place, ["SET innodb_lock_wait_timeout=10", "UPDATE t SET a='one' WHERE id=1"]);
        expect(await look(way.place, "SELECT COUNT(*) FROM t WHERE a='open'")).toBe("0");
        expect(await look(way.place, "SELECT @@autocommit")).toBe("1");
      });
    }
  }

  test("T12 T17 the next session has the charset of its own handshake", async () => {
    const sql = "SELECT CONCAT_WS(' ', @@character_set_client, @@character_set_results, @@collation_connection)";
    for (const options of [latin1, {}, latin1]) {
      const fresh = await look(way.database, sql, options);
      await visit(way.place, async (client) => {
        expect(await client.one(sql)).toBe(fresh);
        await client.run("SET NAMES utf8mb4 COLLATE utf8mb4_bin");
      }, options);
      expect(await look(way.place, sql, options)).toBe(fresh);
    }
    expect(await look(way.place, "SELECT @@character_set_client", latin1)).toBe("latin1");
  });

  test("T12 COM_RESET_CONNECTION does to the charset what the server does", async () => {
    const sql = "SELECT CONCAT_WS(' ', @@character_set_client, @@collation_connection)";
    const seen = (place: typeof way.place) =>
      visit(place, async (client) => {
        await client.run("SET NAMES greek");
        await client.reset();
        return await client.one(sql);
      }, latin1);
    expect(await seen(way.place)).toBe(await seen(way.database));
  });

  test("T13 a session costs the server at most one SET", async () => {
    await look(way.place, "SELECT 1");
    const before = await counter(way.database, "Com_set_option");
    for (let index = 0; index < 20; index++) await look(way.place, "SELECT 1");
    expect((await counter(way.database, "Com_set_option")) - before).toBeLessThanOrEqual(20);
  });

  test("T15 COM_RESET_CONNECTION keeps the schema, and the next session has its own", async () => {
    await visit(way.place, async (client) => {
      await client.run("USE a", "SET @x=1");
      expect((await client.reset()).kind).toBe("ok");
      expect(await client.rows("SELECT DATABASE(), @x")).toEqual([["a", null]]);
    });
    expect(await look(way.place, "SELECT DATABASE()")).toBe("test");
  });

  test("a session without a schema has none, after one that had", async () => {
    await leave(way.place, ["USE a"]);
    await using client = await RawClient.login(way.place);
    expect(await client.one("SELECT DATABASE()")).toBe(null);
    expect(await errorCode(client.run("SELECT * FROM t"))).toBe(1046);
  });

  test("T18 the multi-statement option is each session's own", async () => {
    const single = { without: FLAGS.MULTI_STATEMENTS };
    await visit(way.place, async (client) => {
      expect((await client.simple(0x1b, Buffer.of(0, 0))).kind).toBe("ok");
      expect((await client.query("SELECT 1; SELECT 2")).length).toBe(2);
    }, single);
    expect(await errorCode(leave(way.place, ["SELECT 1; SELECT 2"], single))).toBe(1064);
    await visit(way.place, async (client) => {
      expect((await client.simple(0x1b, Buffer.of(1, 0))).kind).toBe("ok");
      expect((await client.query("SELECT 1; SELECT 2"))[0]!.kind).toBe("error");
    });
    expect(await visit(way.place, async (client) => (await client.query("SELECT 1; SELECT 2")).length)).toBe(2);
  });

  test("T61 a hundred dirty sessions, one after the other", async () => {
    for (let index = 0; index < 100; index++) {
      await visit(way.place, async (client) => {
        expect(await client.rows("SELECT @dirty, @@group_concat_max_len>7")).toEqual([[null, "1"]]);
        await client.run("SET SESSION group_concat_max_len=7", "SET @dirty=1");
      });
    }
  });
});

forEachServer("a pool of several", { database: { init }, proxy: { size: 8 } }, (way) => {
  test("T10 persistent PDO keeps its session within a process, and mysqli's persistent link starts anew", async () => {
    expect(
      await php(
        way.place,
        `
        $p = [PDO::ATTR_PERSISTENT => true];
        $first = pdo($p); $first->exec("SET @kept=1, time_zone='+05:00'"); $id = one($first, 'SELECT CONNECTION_ID()');
        unset($first);
        $second = pdo($p);
        $seen = [one($second, 'SELECT @kept'), one($second, 'SELECT @@time_zone'), one($second, 'SELECT CONNECTION_ID()') == $id];
        unset($second);
        $m = my(['host' => 'p:' . $place['host']]); $m->query("SET @kept=1, time_zone='+05:00'"); $id = $m->thread_id; $m->close();
        $n = my(['host' => 'p:' . $place['host']]);
        return [$seen, [one($n, 'SELECT @kept'), one($n, 'SELECT @@time_zone'), $n->thread_id == $id, one($n, 'SELECT DATABASE()')]];`,
      ),
    ).toEqual([[1, "+05:00", true], [null, "SYSTEM", true, "test"]]);
    expect(await look(way.place, "SELECT @kept")).toBe(null);
  });

  test("T2 T76 a setting stays with its session while others work", async () => {
    await using first = await session(way.place);
    await first.run("SET sql_safe_updates=1, time_zone='+03:00'");
    for (let index = 0; index < 5; index++) await leave(way.place, ["SELECT 1", "SET time_zone='-02:00'"]);
    expect(await first.rows("SELECT @@sql_safe_updates, @@time_zone")).toEqual([["1", "+03:00"]]);
  });

  test("T11 a transaction of one session is not another's", async () => {
    await using first = await session(way.place);
    await first.run("DELETE FROM t WHERE a='yours'", "BEGIN", "INSERT INTO t(a) VALUES ('mine')");
    await using second = await session(way.place);
    await second.run("INSERT INTO t(a) VALUES ('yours')");
    await first.run("ROLLBACK");
    expect(await second.rows("SELECT a FROM t WHERE a IN ('mine', 'yours')")).toEqual([["yours"]]);
  });

  test("T14 sessions of two charsets side by side", async () => {
    const seen = await Promise.all(Array.from({ length: 20 }, (_, index) =>
      visit(way.place, async (client) => {
        const letter = index % 2 ? Buffer.of(0xe9) : Buffer.from("é");
        const sql = Buffer.concat([
          Buffer.from("SELECT '"),
          letter,
          Buffer.from("', HEX(CONVERT('"),
          letter,
          Buffer.from("' USING utf8mb4))"),
        ]);
        const [result] = await client.query(sql);
        if (result?.kind !== "rows") throw new Error(JSON.stringify(result));
        return result.rows[0]!.map((value) => value!.toString("hex"));
      }, index % 2 ? latin1 : {})));
    const hex = Buffer.from("C3A9").toString("hex");
    expect(seen).toEqual(seen.map((_, index) => [index % 2 ? "e9" : "c3a9", hex]));
  });

  test("T29 a SET that computes is applied", async () => {
    await visit(way.place, async (client) => {
      await client.run("SET SESSION sql_mode=CONCAT(@@sql_mode, ',ANSI')");
      expect(await client.rows('SELECT "id" FROM t WHERE id=1')).toEqual([["1"]]);
    });
  });

  test("T36 a SET that fails fails alone", async () => {
    await visit(way.place, async (client) => {
      for (let index = 0; index < 3; index++) {
        expect(await errorCode(client.run("SET sql_mode='NOPE'"))).toBe(1231);
        expect(await client.one("SELECT 1")).toBe("1");
      }
    });
  });
});
