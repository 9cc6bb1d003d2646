/**
 * Locks, temporary tables, transactions and savepoints: one backend, for as long as they last.
 *
 * @module
 */
import { beforeAll, expect, test } from "bun:test";
import { forEachServer } from "../../support/db_matrix.ts";
import { counter, errorCode, leave, look, session, visit } from "../../support/db_sessions.ts";
import { php } from "../../support/php_client.ts";
import { allowSlowTests, waitFor, within } from "../../support/wait.ts";

allowSlowTests(60_000);

const init = [
  "CREATE TABLE test.t (id INT AUTO_INCREMENT PRIMARY KEY, a VARCHAR(40)) ENGINE=InnoDB",
  "INSERT INTO test.t(a) VALUES ('one')",
  "CREATE PROCEDURE test.make_tmp() BEGIN CREATE TEMPORARY TABLE tmp1 (a INT); INSERT INTO tmp1 VALUES (5); END",
];

forEachServer("locks and transactions", { database: { init }, proxy: { size: 3 } }, (way) => {
  // Each way to the server begins with the same rows.
  beforeAll(async () => void await way.database.admin("TRUNCATE TABLE test.t"));

  const noise = () => leave(way.place, ["SET @noise=1", "SELECT COUNT(*) FROM information_schema.schemata"]);

  test("T25 LOCK TABLES, write, UNLOCK TABLES", async () => {
    await using client = await session(way.place);
    await client.run("LOCK TABLES t WRITE");
    await noise();
    await client.run("INSERT INTO t(a) VALUES ('locked')");
    expect(await errorCode(client.run("SELECT * FROM mysql.user LIMIT 1"))).toBe(1100);
    await noise();
    await client.run("UNLOCK TABLES");
    expect(await look(way.place, "SELECT COUNT(*) FROM t WHERE a='locked'")).toBe("1");
  });

  for (const how of ["text", "binary"] as const) {
    test(`T26 a temporary table made by a procedure, called in ${how}`, async () => {
      await using client = await session(way.place);
      if (how === "text") await client.run("CALL make_tmp()");
      else await client.execute((await client.prepare("CALL make_tmp()")).id);
      await noise();
      expect(await client.one("SELECT a FROM tmp1")).toBe("5");
    });
  }

  test("T27 the next session can make the same temporary table, and does not see the last one", async () => {
    for (let round = 0; round < 6; round++) {
      await visit(way.place, async (client) => {
        expect(await errorCode(client.run("SELECT * FROM tmp2"))).toBe(1146);
        await client.run("CREATE TEMPORARY TABLE tmp2 (a INT)", "INSERT INTO tmp2 VALUES (1)");
        expect(await client.one("SELECT COUNT(*) FROM tmp2")).toBe("1");
      });
    }
  });

  test("T28 T35 sessions with user variables, cut off or not, give their backends back", async () => {
    for (let round = 0; round < 30; round++) {
      const client = await session(way.place);
      await client.run(`SET @v=${round}`, "BEGIN", "UPDATE t SET a='held' WHERE id=1");
      if (round % 3 === 0) await client.quit();
      else client.destroy();
    }
    expect(await within(10_000, "A session after them", look(way.place, "SELECT @v"))).toBe(null);
    await leave(way.place, ["UPDATE t SET a='one' WHERE id=1"]);
  });

  test("T30 savepoints with autocommit=0", async () => {
    await using client = await session(way.place);
    await client.run("SET autocommit=0", "SAVEPOINT a");
    await noise();
    await client.run("INSERT INTO t(a) VALUES ('undone')");
    await noise();
    await client.run("ROLLBACK TO SAVEPOINT a", "INSERT INTO t(a) VALUES ('kept')");
    await noise();
    await client.run("COMMIT");
    expect(await look(way.place, "SELECT GROUP_CONCAT(a) FROM t WHERE a IN ('undone', 'kept')")).toBe("kept");
  });

  test("T32 PDO's inTransaction() follows the server", async () => {
    expect(
      await php(
        way.place,
        `
        $p = pdo(); $seen = [$p->inTransaction()];
        $p->beginTransaction(); $seen[] = $p->inTransaction();
        $p->exec("INSERT INTO t(a) VALUES ('committed by DDL')");
        $p->exec('CREATE TABLE IF NOT EXISTS ddl (a INT)'); $seen[] = $p->inTransaction();
        $p->exec('BEGIN'); $seen[] = $p->inTransaction();
        $p->exec('ROLLBACK'); $seen[] = $p->inTransaction();
        return $seen;`,
      ),
    ).toEqual([false, true, false, true, false]);
  });

  test("a transaction survives an error in it, and COM_PING tells", async () => {
    await using client = await session(way.place);
    await client.run("BEGIN", "INSERT INTO t(a) VALUES ('before the error')");
    expect(await errorCode(client.run("SELECT nope"))).toBe(1054);
    await noise();
    const ping = await client.ping();
    expect(ping.kind === "ok" && ping.status).toBe(3);
    await client.run("COMMIT");
    expect(await look(way.place, "SELECT COUNT(*) FROM t WHERE a='before the error'")).toBe("1");
  });

  test("T34 a named lock ends with its session, at once", async () => {
    for (let round = 0; round < 5; round++) {
      const client = await session(way.place);
      expect(await client.one("SELECT GET_LOCK('named', 0)")).toBe("1");
      expect(await look(way.place, "SELECT GET_LOCK('named', 0)")).toBe("0");
      if (round % 2) await client.quit();
      else client.destroy();
      expect(await look(way.place, "SELECT GET_LOCK('named', 3)")).toBe("1");
    }
  });

  test("a deadlock is told to one, and its session goes on", async () => {
    await leave(way.place, ["INSERT INTO t(id, a) VALUES (101, 'x'), (102, 'x')"]);
    await using one = await session(way.place);
    await using two = await session(way.place);
    await one.run("BEGIN", "UPDATE t SET a='1' WHERE id=101");
    await two.run("BEGIN", "UPDATE t SET a='2' WHERE id=102");
    const codes = await Promise.all([
      errorCode(one.run("UPDATE t SET a='1' WHERE id=102")),
      errorCode(two.run("UPDATE t SET a='2' WHERE id=101")),
    ]);
    expect(codes.sort()).toEqual([0, 1213]);
    await Promise.all([one.run("ROLLBACK"), two.run("ROLLBACK")]);
    expect(await one.one("SELECT a FROM t WHERE id=101")).toBe("x");
  });

  test("T35 a hundred cut clients leave no query running", async () => {
    const before = await counter(way.database, "Threads_connected");
    for (let round = 0; round < 100; round++) {
      const client = await session(way.place);
      await client.run("SELECT 1");
      if (round % 10 === 0) client.command(3, "SELECT SLEEP(0.2)");
      client.destroy();
    }
    // The proxy may keep as many as its pool has; direct, each ends.
    await waitFor(async () => (await counter(way.database, "Threads_connected")) <= before + (way.proxied ? 3 : 0), {
      what: "the connections to end",
    });
  });
});
