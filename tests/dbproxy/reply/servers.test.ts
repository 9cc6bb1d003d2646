import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { COM } from "../../../plugins/dbproxy/wire/commands.ts";
import type { Database } from "../../support/database.ts";
import { hasMariaDb, startMariaDb } from "../../support/mariadb.ts";
import { mysql9Absent, startMysql9 } from "../../support/mysql9.ts";
import { FLAGS, RawClient, uint } from "../../support/raw_client.ts";
import { startUpgrade, type Upgrade } from "./upgrade.ts";

const setup = [
  "DROP DATABASE IF EXISTS relay",
  "CREATE DATABASE relay CHARACTER SET utf8mb4",
  "CREATE TABLE relay.t (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(20) DEFAULT 'x', n DECIMAL(10,2), at DATETIME, b LONGBLOB)",
  "INSERT INTO relay.t (name, n) VALUES ('one', 1.5), ('two', NULL), ('three', 3)",
  "CREATE TABLE relay.many (i INT)",
  `INSERT INTO relay.many SELECT a.n + 10 * b.n + 100 * c.n FROM ${
    ["a", "b", "c"].map((name) =>
      `(SELECT 0 n ${[1, 2, 3, 4, 5, 6, 7, 8, 9].map((n) => `UNION SELECT ${n}`).join(" ")}) ${name}`
    )
      .join(", ")
  }`,
  "CREATE PROCEDURE relay.two() BEGIN SELECT 1 AS a; SELECT id, name FROM t; UPDATE t SET n = 9 WHERE id = 1; END",
  "CREATE PROCEDURE relay.fails() BEGIN SELECT 1 AS a; SELECT 1 FROM nowhere; END",
  "CREATE PROCEDURE relay.outs(IN a INT, OUT b INT, INOUT c INT) BEGIN SET b = a + 1, c = c + a; SELECT a; END",
  "CREATE PROCEDURE relay.nothing() BEGIN END",
];

const texts = [
  "SELECT 1",
  "SELECT 1 AS a, NULL AS b, '' AS c, REPEAT('x', 300) AS d",
  "SELECT * FROM t",
  "SELECT * FROM t WHERE id = 2",
  "SELECT * FROM t WHERE id = 99",
  "SELECT * FROM t WHERE n IS NOT NULL ORDER BY name",
  "SELECT i FROM many ORDER BY i",
  "SELECT REPEAT('y', 100000) AS big, 2 AS small",
  "SELECT * FROM nowhere",
  "SELEC 1",
  "",
  "/* nothing */",
  "INSERT INTO t (name) VALUES ('four')",
  "INSERT INTO t (name) VALUES ('five'), ('six'), ('seven')",
  "UPDATE t SET n = 5 WHERE id < 3",
  "UPDATE t SET n = 5 WHERE id < 3",
  "DELETE FROM t WHERE id = 6",
  "REPLACE INTO t (id, name) VALUES (1, 'new')",
  "INSERT INTO t (id) VALUES (1)",
  "SET NAMES utf8mb4",
  "SET SESSION sql_mode = 'ANSI_QUOTES'",
  'SELECT "id" FROM t',
  "SET SESSION sql_mode = 'NO_BACKSLASH_ESCAPES'",
  "SELECT '\\'",
  "SET SESSION sql_mode = ''",
  "SET @a = 1",
  "SET autocommit = 0",
  "SELECT COUNT(*) FROM t",
  "COMMIT",
  "SET autocommit = 1",
  "BEGIN",
  "SELECT id FROM t LIMIT 1",
  "INSERT INTO t (name) VALUES ('inside')",
  "ROLLBACK",
  "START TRANSACTION READ ONLY",
  "SELECT 2",
  "INSERT INTO t (name) VALUES ('refused')",
  "COMMIT",
  "USE relay",
  "USE nowhere",
  "SHOW TABLES",
  "SHOW WARNINGS",
  "INSERT IGNORE INTO t (id, name) VALUES (1, 'again')",
  "SHOW WARNINGS",
  "EXPLAIN SELECT * FROM t",
  "CREATE TEMPORARY TABLE tmp (a INT)",
  "INSERT INTO tmp VALUES (1), (2)",
  "SELECT * FROM tmp",
  "DROP TABLE tmp",
  "DROP TABLE IF EXISTS absent",
  "ANALYZE TABLE t",
  "CALL two()",
  "CALL nothing()",
  "CALL fails()",
  "CALL outs(1, @b, @a)",
  "SELECT @b, @a",
  "DO 1",
  "SELECT 1; SELECT 2",
  "SELECT 1; INSERT INTO t (name) VALUES ('m'); SELECT * FROM t WHERE id = 1; UPDATE t SET n = 0 WHERE id = 1",
  "SET @x = 1; SELECT @x; SELECT * FROM nowhere; SELECT 3",
  "SELECT 1; CALL two(); SELECT 3",
  "SELECT 1; SELEC 2",
  "SELECT (SELECT i FROM many WHERE i < 5)",
  "SELECT i, (SELECT id FROM t WHERE id < i) FROM many ORDER BY i",
  "PREPARE p FROM 'SELECT ? AS a'",
  "EXECUTE p USING @a",
  "DEALLOCATE PREPARE p",
  "GET DIAGNOSTICS @n = NUMBER",
  "SHOW STATUS LIKE 'Com_nothing'",
  "XA START 'a'",
  "XA END 'a'",
  "XA ROLLBACK 'a'",
  "SELECT 1 INTO @y",
  "SELECT GET_LOCK('relay', 0)",
  "SELECT RELEASE_LOCK('relay')",
  "HANDLER t OPEN",
  "HANDLER t READ FIRST",
  "HANDLER t CLOSE",
  "LOCK TABLES t READ",
  "UNLOCK TABLES",
  "KILL QUERY 4294967290",
];

const prepared: [sql: string, values: (string | null)[]][] = [
  ["SELECT * FROM t WHERE id = ?", ["1"]],
  ["SELECT * FROM t WHERE id > ? AND name <> ?", ["0", "zz"]],
  ["SELECT * FROM t WHERE id > 100", []],
  ["INSERT INTO t (name, n) VALUES (?, ?)", ["p", null]],
  ["SET @z = ?", ["1"]],
  ["CALL two()", []],
  ["CALL outs(?, ?, ?)", ["1", "2", "3"]],
  ["SELECT * FROM nowhere WHERE a = ?", []],
  ["DO 1", []],
];

type Log = [what: string, packets: string[]][];

/** Their plan is known between the definitions and the rows, and they fail, or end with a status of another query. */
const planned = ["EXPLAIN", "SELECT (SELECT", "SELECT i, (SELECT", "SHOW STATUS"];

/**
 * Packets without what differs of itself: MariaDB's statement ids, which count for the whole server, and what an EOF between
 * definitions and rows says of the plan, or at all where the end was not in yet.
 */
function comparable([what, packets]: Log[number], whole: boolean): string[] {
  const unsure = !whole || planned.some((start) => what.startsWith(start));
  return packets.map((packet, i) => {
    if (what.startsWith("prepare") && i === 0) return packet.replace(/^(1: 00)\w{8}/, "$1");
    if (what.startsWith("fetch") && packet.startsWith("1: ff")) return packet.replace(/28(3\d)+29/, "");
    const eof = /^(\d+: fe....)(..)(..)$/.exec(packet);
    if (!eof || !unsure || i === packets.length - 1) return packet;
    return whole ? `${eof[1]}${(parseInt(eof[2]!, 16) & ~0x30).toString(16)}${eof[3]}` : eof[1]!;
  });
}

/** What a client sees of every command, packet by packet. */
async function see(client: RawClient, outs: boolean): Promise<Log> {
  const log: Log = [];
  const note = (what: string) => log.push([what, client.dump().split("\n")]);
  for (const sql of texts) {
    await client.query(sql);
    note(sql);
  }
  await client.query("LOAD DATA LOCAL INFILE 'here' INTO TABLE t (name)", Buffer.from("a\nb\nc\n"));
  note("LOAD DATA");
  await client.query("SELECT 1; LOAD DATA LOCAL INFILE 'here' INTO TABLE t (name); SELECT 2", Buffer.from("d\n"));
  note("LOAD DATA behind a result");
  await client.query("LOAD DATA LOCAL INFILE 'here' INTO TABLE t (name)");
  note("LOAD DATA refused");
  for (const [sql, values] of prepared.filter(([sql]) => outs || !sql.includes("outs"))) {
    await client.prepare(sql).then(async ({ id, columns }) => {
      note(`prepare ${sql}`);
      await client.execute(id, values);
      note(`execute ${sql}`);
      await client.simple(COM.STMT_RESET, uint(id, 4));
      note(`reset ${sql}`);
      client.command(COM.STMT_SEND_LONG_DATA, Buffer.concat([uint(id, 4), uint(0, 2), Buffer.from("1")]));
      await client.execute(id, values, 1);
      note(`cursor ${sql}`);
      if (columns.length > 0) {
        for (let i = 0; i < 3; i++) {
          client.command(COM.STMT_FETCH, Buffer.concat([uint(id, 4), uint(2, 4)]));
          await client.fetched(columns, true);
          note(`fetch ${i} ${sql}`);
        }
      }
      client.closeStatement(id);
    }, () => note(`prepare ${sql}`));
  }
  await client.execute(99);
  note("execute an unknown statement");
  for (const table of ["t", "nowhere"]) {
    client.command(COM.FIELD_LIST, `${table}\0`);
    while ((await client.stream.read()).payload[0]! < 0xfe);
    note(`field list of ${table}`);
  }
  for (
    const [code, payload] of [
      [COM.SET_OPTION, uint(0, 2)],
      [COM.SET_OPTION, uint(1, 2)],
      [COM.SET_OPTION, uint(7, 2)],
      [COM.DEBUG, ""],
      [COM.PING, ""],
      [COM.INIT_DB, "relay"],
      [COM.INIT_DB, "nowhere"],
      [COM.PROCESS_KILL, uint(4294967290, 4)],
      [COM.REFRESH, uint(1, 1)],
      [COM.RESET_CONNECTION, ""],
      [0x7f, ""],
    ] as const
  ) {
    await client.simple(code, payload);
    note(`command ${code}`);
  }
  client.command(COM.PROCESS_INFO);
  await client.results();
  log.push(["process info", [String(client.stream.seen.length)]]);
  client.command(COM.STATISTICS);
  const { seq, payload } = await client.stream.read();
  log.push(["statistics", [`${seq} ${payload.toString().replace(/[0-9.]+/g, "#")}`]]);
  return log;
}

function servers(name: string, absent: string | undefined, start: () => Promise<Database>): void {
  if (absent !== undefined) return void describe(name, () => test.skip(`not here: ${absent}`, () => {}));
  describe(name, () => {
    let server: Database;
    const upgrades: Upgrade[] = [];
    beforeAll(async () => {
      server = await start();
      for (const cut of [Infinity, 13]) upgrades.push(await startUpgrade(server.port, cut));
    });
    afterAll(async () => {
      for (const upgrade of upgrades) await upgrade.stop();
      await server?.stop();
    });

    const kinds = {
      "as PHP": FLAGS.LOCAL_FILES,
      "with PS_MULTI_RESULTS": FLAGS.LOCAL_FILES | FLAGS.PS_MULTI_RESULTS,
      "with DEPRECATE_EOF": FLAGS.LOCAL_FILES | FLAGS.DEPRECATE_EOF,
      "with all": FLAGS.LOCAL_FILES | FLAGS.PS_MULTI_RESULTS | FLAGS.DEPRECATE_EOF | FLAGS.SESSION_TRACK,
    };
    for (const [kind, flags] of Object.entries(kinds)) {
      test(`a client ${kind} sees the same bytes through the relay as directly`, async () => {
        // MySQL 9 tells such a client that the OUT parameters end the reply, and sends an OK more.
        const trap = server.kind === "mysql" && kind === "with PS_MULTI_RESULTS";
        const look = async (place: { host: string; port: number }) => {
          await server.admin(...setup.slice(0, 6), "USE relay", ...setup.slice(6));
          const client = await RawClient.login({ ...server, ...place }, { flags, database: "relay" });
          try {
            return await see(client, !trap);
          } finally {
            client.destroy();
          }
        };
        const direct = await look(server);
        for (const upgrade of upgrades) {
          const relayed = await look(upgrade);
          expect(upgrade.broken).toEqual([]);
          expect(relayed.length).toBe(direct.length);
          const whole = upgrade === upgrades[0];
          const different = direct.flatMap((one, i) => {
            const [due, got] = [comparable(one, whole), comparable(relayed[i]!, whole)];
            return due.join("\n") === got.join("\n") ? [] : [[
              one[0],
              ...due.flatMap((packet, j) =>
                packet === got[j] ? [] : [packet.slice(0, 60), (got[j] ?? "").slice(0, 60)]
              ),
            ]];
          });
          expect(different).toEqual([]);
        }
      });
    }
  });
}

servers("MariaDB", hasMariaDb() ? undefined : "not installed", () => startMariaDb());
servers("MySQL 9", mysql9Absent(), () => startMysql9({ options: ["local_infile=1"] }));
