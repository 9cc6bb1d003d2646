/**
 * LAST_INSERT_ID(), FOUND_ROWS(), ROW_COUNT() and warnings: what a statement leaves for the next one of its own session.
 *
 * @module
 */
import { expect, test } from "bun:test";
import { forEachServer } from "../../support/db_matrix.ts";
import { look, plain, session, visit } from "../../support/db_sessions.ts";
import { php } from "../../support/php_client.ts";
import { FLAGS, type RawClient } from "../../support/raw_client.ts";
import { allowSlowTests } from "../../support/wait.ts";

allowSlowTests(60_000);

const init = [
  "CREATE TABLE test.t (id INT AUTO_INCREMENT PRIMARY KEY, a VARCHAR(40)) ENGINE=InnoDB",
  "INSERT INTO test.t(a) VALUES ('one'), ('two'), ('three')",
];

forEachServer("what a statement leaves", { database: { init }, proxy: { size: 2 } }, (way) => {
  /** Another session writes, reads and warns. */
  const noise = () =>
    visit(way.place, async (client) => {
      await client.run(
        "INSERT INTO t(a) VALUES ('noise'), ('noise')",
        "SELECT SQL_CALC_FOUND_ROWS 1 LIMIT 0",
        "SELECT LAST_INSERT_ID(4711)",
      );
    });

  const spellings = [
    "SELECT LAST_INSERT_ID() AS x;",
    "SELECT LAST_INSERT_ID() LIMIT 1",
    "select last_insert_id ( )",
    "SELECT /* own */ @@identity",
    "SELECT @@last_insert_id",
    "SELECT id FROM t WHERE id=LAST_INSERT_ID()",
  ];
  for (const sql of spellings) {
    test(`T19 ${sql}`, async () => {
      await using client = await session(way.place, { flags: FLAGS.IGNORE_SPACE });
      const [inserted] = await client.query("INSERT INTO t(a) VALUES ('mine'), ('mine')");
      await noise();
      expect(inserted?.kind === "ok" && inserted.insertId > 0).toBe(true);
      expect(await client.one(sql)).toBe(String(inserted?.kind === "ok" && inserted.insertId));
    });
  }

  test("T19 in the binary protocol, and by an UPDATE", async () => {
    await using client = await session(way.place);
    const insert = await client.prepare("INSERT INTO t(a) VALUES (?)");
    const [inserted] = await client.execute(insert.id, ["bound"]);
    await noise();
    const read = await client.prepare("SELECT LAST_INSERT_ID()");
    expect(plain(await client.execute(read.id))).toEqual([[[String(inserted?.kind === "ok" && inserted.insertId)]]]);
    await client.run("UPDATE t SET a='x' WHERE id=LAST_INSERT_ID(1) ");
    await noise();
    expect(await client.one("SELECT LAST_INSERT_ID()")).toBe("1");
  });

  test("T19 SET LAST_INSERT_ID is read back", async () => {
    await using client = await session(way.place);
    await client.run("SET LAST_INSERT_ID=77");
    await noise();
    expect(await client.one("SELECT LAST_INSERT_ID()")).toBe("77");
  });

  const found: readonly (readonly [string, (client: RawClient) => Promise<unknown>])[] = [
    ["T21 in text", (client) => client.run("SELECT SQL_CALC_FOUND_ROWS id FROM t WHERE id<=3 LIMIT 1")],
    ["T22 in the binary protocol", async (client) => {
      await client.execute((await client.prepare("SELECT SQL_CALC_FOUND_ROWS id FROM t WHERE id<=? LIMIT 1")).id, [
        "3",
      ]);
    }],
  ];
  for (const [name, work] of found) {
    test(`${name}: FOUND_ROWS()`, async () => {
      await using client = await session(way.place);
      await work(client);
      await noise();
      expect(await client.one("SELECT FOUND_ROWS()")).toBe("3");
    });
  }

  test("T23 SHOW WARNINGS shows the session's own", async () => {
    await using client = await session(way.place);
    const [divided] = await client.query("SELECT CAST('a' AS SIGNED)");
    expect(divided?.kind === "rows" && divided.warnings).toBe(1);
    await noise();
    expect((await client.rows("SHOW WARNINGS")).map((row) => row[1])).toEqual(["1292"]);
    expect(await client.one("SHOW COUNT(*) WARNINGS")).toBe("1");
    await client.query("SELECT nope");
    await noise();
    expect((await client.rows("SHOW ERRORS")).map((row) => row[1])).toEqual(["1054"]);
  });

  test("T23 a new session has no warnings", async () => {
    expect(await visit(way.place, (client) => client.rows("SHOW WARNINGS"))).toEqual([]);
  });

  test("ROW_COUNT() is the session's own", async () => {
    await using client = await session(way.place);
    await client.run("UPDATE t SET a=CONCAT(a, '!') WHERE id<=3");
    await noise();
    expect(await client.one("SELECT ROW_COUNT()")).toBe("3");
    expect(await client.one("SELECT ROW_COUNT()")).toBe("-1");
  });

  test("T24 CLIENT_FOUND_ROWS is each client's own", async () => {
    for (let round = 0; round < 4; round++) {
      for (const [flags, matched] of [[FLAGS.FOUND_ROWS, 1], [0, 0]] as const) {
        await visit(way.place, async (client) => {
          const value = `same ${round}`;
          await client.run(`UPDATE t SET a='${value}' WHERE id=1`);
          const [again] = await client.query(`UPDATE t SET a='${value}' WHERE id=1`);
          expect(again?.kind === "ok" && again.affected).toBe(matched);
        }, { flags });
      }
    }
  });

  test("T24 PDO's FOUND_ROWS", async () => {
    const script = `
      $counts = [];
      foreach ([true, false, true] as $found) {
        $link = pdo([PDO::MYSQL_ATTR_FOUND_ROWS => $found]);
        $link->exec("UPDATE t SET a='pdo' WHERE id=2");
        $counts[] = $link->exec("UPDATE t SET a='pdo' WHERE id=2");
        $link = null;
      }
      return $counts;`;
    expect(await php(way.place, script)).toEqual([1, 0, 1]);
    expect(await php(way.place, script, { viaSocket: true })).toEqual([1, 0, 1]);
  });

  test("T19 mysqli and PDO agree with the server", async () => {
    const seen = (await php(
      way.place,
      `
        $m = my(); $m->query("INSERT INTO t(a) VALUES ('m')"); $mine = $m->insert_id;
        $p = pdo(); $p->exec("INSERT INTO t(a) VALUES ('p')"); $own = $p->lastInsertId();
        return [
          $mine == one($m, 'SELECT LAST_INSERT_ID()'), $own == one($p, 'SELECT LAST_INSERT_ID()'), $own - $mine,
          $m->thread_id == one($m, 'SELECT CONNECTION_ID()'),
        ];`,
    )) as unknown[];
    expect(seen.slice(0, 3)).toEqual([true, true, 1]);
    // Through the proxy the id is its own where no connection could be promised; KILL takes either.
    if (!way.proxied) expect(seen[3]).toBe(true);
    expect(await look(way.place, "SELECT LAST_INSERT_ID()")).toBe("0");
  });
});
