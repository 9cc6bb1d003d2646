/**
 * Packets and results: every size, every shape of a reply, on every combination of flags.
 *
 * @module
 */
import { expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { forEachServer } from "../../support/db_matrix.ts";
import { errorCode, look, plain, session, visit } from "../../support/db_sessions.ts";
import { php } from "../../support/php_client.ts";
import { residentBytes } from "../../support/proc.ts";
import { FLAGS, ok, type RawClient } from "../../support/raw_client.ts";
import { allowSlowTests } from "../../support/wait.ts";

allowSlowTests(120_000);

const init = [
  "CREATE TABLE test.t (id INT AUTO_INCREMENT PRIMARY KEY, a VARCHAR(40)) ENGINE=InnoDB",
  "INSERT INTO test.t(a) VALUES ('one'), (NULL), ('three')",
  "CREATE TABLE test.loaded (a VARCHAR(100)) ENGINE=InnoDB",
  "CREATE PROCEDURE test.two() BEGIN SELECT 1 AS a; SELECT 2 AS b, 3 AS c; UPDATE t SET a=a WHERE id=1; END",
  "CREATE PROCEDURE test.breaks() BEGIN SELECT 1; SELECT 2; SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT='broken'; END",
];

forEachServer("packets", { database: { init }, proxy: { size: 4 } }, (way) => {
  const MiB16 = 0xffffff;

  for (const size of [0x7fffff, 0xfffffb, 0xfffffc, 0xfffffd, 0xfffffe, MiB16, MiB16 + 1, 2 * MiB16 - 1, 2 * MiB16]) {
    test(`T47 a command of ${size.toString(16)} bytes`, async () => {
      await using client = await session(way.place);
      // The command byte counts too.
      const [head, tail] = ["SELECT LENGTH('", "')"];
      const length = size - 1 - head.length - tail.length;
      expect(await client.one(`${head}${"x".repeat(length)}${tail}`)).toBe(String(length));
      expect(await client.one("SELECT 1")).toBe("1");
    });

    test(`T47 a row of ${size.toString(16)} bytes`, async () => {
      await using client = await session(way.place, { flags: FLAGS.DEPRECATE_EOF });
      const lengthed = size - 4 > MiB16 ? 9 : 4;
      const [row] = (await client.rows(`SELECT REPEAT('x', ${size - lengthed})`))[0]!;
      expect(row!.length).toBe(size - lengthed);
      expect(client.stream.seen.find(({ payload }) => payload.length > 1000)!.payload.length).toBe(size);
      expect(await client.one("SELECT 1")).toBe("1");
    });
  }

  for (const edge of ["ff", "fe", "00", "fb", "0100"]) {
    for (const flags of [0, FLAGS.DEPRECATE_EOF]) {
      test(`T47 a second frame that begins with ${edge}, ${flags ? "DEPRECATE_EOF" : "classic EOF"}`, async () => {
        await using client = await session(way.place, { flags });
        // The row's first frame ends after 9 bytes of length and this many of the value.
        const before = MiB16 - 9;
        const [result] = ok(
          await client.query(`SELECT CONCAT(REPEAT('x', ${before}), x'${edge}', REPEAT('y', 10)) FROM t WHERE id<=3`),
        );
        if (result?.kind !== "rows") throw new Error("no rows");
        const expected = Buffer.concat([Buffer.alloc(before, "x"), Buffer.from(edge, "hex"), Buffer.alloc(10, "y")]);
        expect(result.rows.map((row) => row[0]!.equals(expected))).toEqual([true, true, true]);
        expect(await client.one("SELECT 1")).toBe("1");
      });
    }
  }

  test("a packet above max_allowed_packet is refused, and the connection closed", async () => {
    await using client = await session(way.place);
    const limit = Number(await client.one("SELECT @@max_allowed_packet"));
    // A statement that is sent whole would be long; the server refuses it by its size alone.
    client.command(3, Buffer.alloc(limit + 1000, "SELECT 1 "));
    const reply = await client.stream.read().catch(() => undefined);
    if (reply) expect(reply.payload.readUInt16LE(1)).toBe(1153);
    await client.stream.closed;
    expect(await look(way.place, "SELECT 1")).toBe("1");
  });

  test("empty and unknown commands are refused, and the connection stays", async () => {
    await using client = await session(way.place);
    client.stream.forget();
    client.stream.send(Buffer.alloc(0));
    expect((await client.stream.read()).payload.readUInt16LE(1)).toBe(1047);
    for (const code of [0x00, 0x50]) {
      expect(plain([await client.simple(code)])).toEqual([{ error: 1047, state: "08S01" }]);
    }
    expect(plain(await client.query(""))).toEqual([{ error: 1065, state: "42000" }]);
    expect(await client.one("SELECT 1")).toBe("1");
  });

  for (const flags of [0, FLAGS.DEPRECATE_EOF, FLAGS.DEPRECATE_EOF | FLAGS.SESSION_TRACK]) {
    const named = flags === 0
      ? "classic EOF"
      : flags === FLAGS.DEPRECATE_EOF
      ? "DEPRECATE_EOF"
      : "DEPRECATE_EOF and SESSION_TRACK";
    const both = async (work: (client: RawClient) => Promise<unknown>) => {
      const run = (place: typeof way.place) =>
        visit(place, async (client) => {
          const value = await work(client);
          expect(client.stream.unread).toBe(0);
          return value;
        }, { flags });
      expect(await run(way.place)).toEqual(await run(way.database));
    };

    test(`T49 T50 T51 every shape of a reply has the server's very bytes, ${named}`, async () => {
      const texts = [
        "SELECT 1",
        "SELECT id, a FROM t WHERE id<=3",
        "SELECT id FROM t WHERE id<0",
        "SELECT NULL, '', 'é'",
        "UPDATE t SET a='one' WHERE id=1",
        "SET @x=1",
        "USE test",
        "SET NAMES utf8mb4",
        "CREATE TEMPORARY TABLE shape (a INT)",
        "BEGIN",
        "INSERT INTO shape VALUES (1), (2)",
        "COMMIT",
        "CALL two()",
        "CALL breaks()",
        "SELECT 1; SELECT 2, 3; SET @y=2; SELECT 4 WHERE 1=0",
        "SELECT 1; SELECT nope; SELECT 3",
        "SELECT CAST('a' AS SIGNED)",
        "SHOW WARNINGS",
        "SELECT nope",
        "nonsense",
        "SELECT REPEAT('x', 300), REPEAT('y', 70000)",
        "DO 1",
        "SELECT 1 FROM t UNION ALL SELECT 2",
        "EXPLAIN SELECT 1",
      ];
      await both(async (client) => {
        const replies: [string, string][] = [];
        for (const text of texts) {
          await client.query(text);
          replies.push([text, client.dump()]);
        }
        return replies;
      });
    });

    test(`T51 the same in the binary protocol, ${named}`, async () => {
      const texts = [
        "SELECT 1",
        "SELECT id, a FROM t WHERE id<=3",
        "SELECT id FROM t WHERE id<0",
        "UPDATE t SET a='one' WHERE id=1",
        "CALL two()",
        "SET @x=1",
        "DO 1",
        "SHOW TABLES LIKE 'none'",
      ];
      await both(async (client) => {
        const replies: [string, string][] = [];
        for (const text of texts) {
          const { id } = await client.prepare(text);
          // MariaDB numbers statements over all sessions.
          const prepared = client.dump().replace(/^1: 00.{8}/, "1: 00ID");
          await client.execute(id);
          replies.push([text, `${prepared}\n${client.dump()}`]);
          client.closeStatement(id);
        }
        return replies;
      });
    });

    test(`the small commands have the server's very bytes, ${named}`, async () => {
      await both(async (client) => {
        const replies: string[] = [];
        for (
          const [code, payload] of [[0x0e, ""], [0x02, "test"], [0x02, "absent"], [0x1b, "\0\0"], [0x1f, ""], [
            0x02,
            "test",
          ]] as const
        ) {
          await client.simple(code, payload);
          replies.push(client.dump());
        }
        client.command(0x04, "t\0%");
        for (;;) {
          const { payload } = await client.stream.read();
          if (payload[0] === 0xfe || payload[0] === 0xff) break;
        }
        replies.push(client.dump());
        client.command(0x09);
        replies.push((await client.stream.read()).payload.subarray(0, 8).toString());
        return replies;
      });
    });
  }

  test("T50 mysqli's multi_query with a failing part", async () => {
    expect(
      await php(
        way.place,
        `
        $m = my(); $seen = [];
        try {
          $m->multi_query('SELECT 1; SELECT nope; SELECT 3');
          do { $seen[] = $m->store_result()->fetch_row()[0]; } while ($m->next_result());
        } catch (mysqli_sql_exception $e) { $seen[] = $e->getCode(); }
        $seen[] = one($m, 'SELECT 9');
        return $seen;`,
      ),
    ).toEqual(["1", 1054, "9"]);
  });

  test("PDO without multi-statements refuses them", async () => {
    const script =
      "return thrown(fn () => pdo([PDO::MYSQL_ATTR_MULTI_STATEMENTS => false])->exec('SELECT 1; SELECT 2'))[0];";
    expect(await php(way.place, script)).toBe(1064);
  });

  test("T53 LOAD DATA LOCAL sends the client's file, not one of the proxy's", async () => {
    if (way.proxied) writeFileSync(join(way.proxy.server.dir, "local.txt"), "of the proxy\n");
    await using client = await session(way.place, { flags: FLAGS.LOCAL_FILES });
    const lines = Buffer.from(Array.from({ length: 100_000 }, (_, index) => `of the client, line ${index}\n`).join(""));
    const [loaded] = await client.query("LOAD DATA LOCAL INFILE 'local.txt' INTO TABLE loaded", lines);
    expect(loaded?.kind === "ok" && loaded.affected).toBe(100_000);
    expect(await client.one("SELECT COUNT(*) FROM loaded WHERE a LIKE 'of the client%'")).toBe("100000");
    await client.run("TRUNCATE loaded");
    // A client that has nothing to send.
    const [empty] = await client.query("LOAD DATA LOCAL INFILE 'local.txt' INTO TABLE loaded");
    expect(empty?.kind === "ok" && empty.affected).toBe(0);
    expect(await client.one("SELECT 1")).toBe("1");
  });

  test("T53 LOAD DATA LOCAL is refused to a client that did not allow it", async () => {
    await leaveLocal(way.place);
    await using client = await session(way.place);
    const [refused] = await client.query("LOAD DATA LOCAL INFILE 'local.txt' INTO TABLE loaded");
    expect(refused?.kind === "error" && refused.code).toBe(way.kind === "mysql" ? 3948 : 4166);
  });

  test("T54 a client that asks for compression is served, compressed or not", async () => {
    await using client = await session(way.place, { flags: FLAGS.COMPRESS });
    for (const size of [1, 49, 50, 70_000, MiB16, 2 * MiB16 + 5]) {
      expect((await client.one(`SELECT REPEAT('x', ${size})`))!.length).toBe(size);
    }
    expect(await client.one(`SELECT LENGTH('${"x".repeat(2 * MiB16)}')`)).toBe(String(2 * MiB16));
    expect(await php(way.place, "return one(my([], MYSQLI_CLIENT_COMPRESS), \"SELECT REPEAT('x', 5)\");")).toBe(
      "xxxxx",
    );
  });

  test("T55 a slow reader of a large result does not fill the proxy", async () => {
    await using client = await session(way.place);
    const megabytes = 192;
    client.command(
      3,
      `SELECT REPEAT('x', 1048576) FROM (WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i+1 FROM n WHERE i<${megabytes}) SELECT i FROM n) AS s`,
    );
    const before = way.proxied ? residentBytes(way.proxy.server.pid) : 0;
    await client.columns((await client.stream.read()).payload[0]!);
    await client.stream.read();
    client.stream.pause();
    // Others are served meanwhile.
    for (let index = 0; index < 20; index++) expect(await look(way.place, "SELECT 1")).toBe("1");
    if (way.proxied) expect(residentBytes(way.proxy.server.pid) - before).toBeLessThan(64 * 1024 * 1024);
    client.stream.resume();
    let bytes = 0;
    for (;;) {
      const { payload } = await client.stream.read();
      client.stream.forget();
      if (payload[0] === 0xfe && payload.length < 9) break;
      bytes += payload.length;
    }
    expect(bytes).toBe(megabytes * (1048576 + 4));
    if (way.proxied) expect(residentBytes(way.proxy.server.pid) - before).toBeLessThan(96 * 1024 * 1024);
  });

  test("T52 numbers of packets count on through a reply", async () => {
    await using client = await session(way.place);
    await client.query("SELECT 1 UNION SELECT 2; SELECT 3");
    expect(client.stream.seen.map(({ seq }) => seq)).toEqual(client.stream.seen.map((_, index) => (index + 1) & 255));
    await client.query("SELECT id FROM information_schema.collations WHERE id<1000 LIMIT 300");
    expect(client.stream.seen.map(({ seq }) => seq)).toEqual(client.stream.seen.map((_, index) => (index + 1) & 255));
    expect(await errorCode(client.run("SELECT nope"))).toBe(1054);
    expect(client.stream.seen.map(({ seq }) => seq)).toEqual([1]);
  });
});

/** A session that allows local files, before one that does not. */
async function leaveLocal(place: Parameters<typeof session>[0]): Promise<void> {
  await visit(place, (client) => client.run("SELECT 1"), { flags: FLAGS.LOCAL_FILES });
}
