/**
 * Prepared statements: ids, metadata, cursors, long data.
 *
 * @module
 */
import { expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { forEachServer } from "../../support/db_matrix.ts";
import { counter, plain, session } from "../../support/db_sessions.ts";
import { php } from "../../support/php_client.ts";
import { FLAGS, ok, uint } from "../../support/raw_client.ts";
import { allowSlowTests, waitFor } from "../../support/wait.ts";

allowSlowTests(120_000);

const init = [
  "CREATE TABLE test.t (id INT AUTO_INCREMENT PRIMARY KEY, a VARCHAR(40)) ENGINE=InnoDB",
  "INSERT INTO test.t(a) VALUES ('one'), ('two'), ('three'), ('four'), ('five')",
  "CREATE PROCEDURE test.with_out(IN a INT, OUT b INT) BEGIN SELECT a AS given; SET b = a + 1; END",
];

forEachServer("prepared statements", { database: { init }, proxy: { size: 4 } }, (way) => {
  test("T38 columns are the server's, after ALTER TABLE too", async () => {
    await using client = await session(way.place);
    await client.run(
      "CREATE TABLE IF NOT EXISTS altered (a INT)",
      "TRUNCATE altered",
      "INSERT INTO altered(a) VALUES (1)",
    );
    const { id, columns } = await client.prepare("SELECT * FROM altered");
    expect(columns.map(({ name }) => name)).toEqual(["a"]);
    expect(plain(await client.execute(id))).toEqual([[["1"]]]);
    await client.run("ALTER TABLE altered ADD COLUMN b INT DEFAULT 7");
    const [result] = await client.execute(id);
    expect(result?.kind === "rows" && result.columns.map(({ name }) => name)).toEqual(["a", "b"]);
    await client.run("DROP TABLE altered");
  });

  test("T39 two thousand prepared and closed leave none", async () => {
    const before = await counter(way.database, "Prepared_stmt_count");
    const client = await session(way.place);
    for (let index = 0; index < 2000; index++) client.closeStatement((await client.prepare("SELECT ?")).id);
    for (let index = 0; index < 20; index++) await client.prepare("SELECT ?");
    await client.quit();
    // Fewer, where those of an earlier session were still being closed.
    await waitFor(async () => (await counter(way.database, "Prepared_stmt_count")) <= before, {
      what: "no statement to be left",
    });
  });

  test("T40 a cursor of mysqli, and rows by COM_STMT_FETCH", async () => {
    expect(
      await php(
        way.place,
        `
        $m = my(); $s = $m->prepare('SELECT id FROM t WHERE id<=5 ORDER BY id');
        $s->attr_set(MYSQLI_STMT_ATTR_CURSOR_TYPE, MYSQLI_CURSOR_TYPE_READ_ONLY);
        $s->execute(); $s->bind_result($id); $ids = [];
        while ($s->fetch()) $ids[] = $id;
        $s->close();
        return [$ids, one($m, 'SELECT 6')];`,
      ),
    ).toEqual([[1, 2, 3, 4, 5], "6"]);
  });

  for (const [name, flags] of [["classic EOF", 0], ["DEPRECATE_EOF", FLAGS.DEPRECATE_EOF]] as const) {
    test(`T46 a cursor with ${name}: one end after the columns, rows on demand`, async () => {
      await using client = await session(way.place, { flags });
      const { id } = await client.prepare("SELECT id FROM t WHERE id<=5 ORDER BY id");
      client.command(0x17, Buffer.concat([uint(id, 4), uint(1, 1), uint(1, 4)]));
      const head = await client.stream.read();
      expect(head.payload.toString("hex")).toBe("01");
      const columns = await client.columns(1);
      const end = (await client.stream.read()).payload;
      const status = end.readUInt16LE(3);
      expect(end[0]).toBe(0xfe);
      expect(status & 0x40).toBe(0x40);
      const fetch = async (count: number) => {
        client.command(0x1c, Buffer.concat([uint(id, 4), uint(count, 4)]));
        return await client.fetched(columns, true);
      };
      const first = await fetch(2);
      expect(plain([first])).toEqual([[["1"], ["2"]]]);
      const rest = await fetch(10);
      expect(plain([rest])).toEqual([[["3"], ["4"], ["5"]]]);
      expect(rest.kind === "rows" && rest.status & 0x80).toBe(0x80);
      expect(await client.one("SELECT 1")).toBe("1");
      expect(client.stream.unread).toBe(0);
    });

    test(`T46 CALL with an OUT parameter, PS_MULTI_RESULTS and ${name}: nothing is left over`, async () => {
      await using client = await session(way.place, { flags: flags | FLAGS.PS_MULTI_RESULTS });
      const { id } = await client.prepare("CALL with_out(?, ?)");
      // The last answer may come unannounced: MySQL's classic EOF of the OUT set does not say that more follows.
      const answers = plain(await client.execute(id, ["4", null]));
      if (answers.length === 2) answers.push(...plain(await client.results(true)));
      expect(answers).toEqual([[["4"]], [["5"]], { affected: 0, insertId: 0 }]);
      expect(await client.one("SELECT 1")).toBe("1");
      expect(client.stream.unread).toBe(0);
    });
  }

  test("T46 CALL without PS_MULTI_RESULTS sends no OUT set", async () => {
    await using client = await session(way.place);
    const { id } = await client.prepare("CALL with_out(?, @out)");
    expect(plain(await client.execute(id, ["4"]))).toEqual([[["4"]], { affected: 0, insertId: 0 }]);
    expect(await client.one("SELECT @out")).toBe("5");
  });

  test("T41 two clients with the same ids", async () => {
    await using one = await session(way.place);
    await using two = await session(way.place);
    const [a, b] = [await one.prepare("SELECT 'one', ?"), await two.prepare("SELECT 'two', ?")];
    for (let round = 0; round < 3; round++) {
      expect(plain(await one.execute(a.id, ["x"]))).toEqual([[["one", "x"]]]);
      expect(plain(await two.execute(b.id, ["y"]))).toEqual([[["two", "y"]]]);
    }
    expect(plain(await two.execute(77, []))).toEqual([{ error: 1243, state: "HY000" }]);
  });

  test("T43 long data in three pieces", async () => {
    expect(
      await php(
        way.place,
        `
        $m = my(); $s = $m->prepare('SELECT SHA2(?, 256), LENGTH(?)'); $blob = null; $other = null;
        $s->bind_param('bb', $blob, $other);
        foreach (['aaa', 'bbb', 'ccc'] as $part) { $s->send_long_data(0, $part); $s->send_long_data(1, $part); }
        $s->execute(); $row = $s->get_result()->fetch_row();
        return [$row[0] === hash('sha256', 'aaabbbccc'), $row[1]];`,
      ),
    ).toEqual([true, 9]);
  });

  test("T43 long data for a statement that is none is told at its execution", async () => {
    await using client = await session(way.place);
    client.command(0x18, Buffer.concat([uint(99, 4), uint(0, 2), Buffer.from("x")]));
    expect(await client.one("SELECT 1")).toBe("1");
    expect(client.stream.unread).toBe(0);
  });

  test("T45 a bound value of 20 MiB", async () => {
    await using client = await session(way.place);
    const value = Buffer.alloc(20 * 1024 * 1024, "0123456789abcde");
    const { id } = await client.prepare("SELECT SHA2(?, 256), ?");
    const [result] = ok(await client.execute(id, [value, value]));
    if (result?.kind !== "rows") throw new Error("no rows");
    expect(result.rows[0]![0]!.toString()).toBe(createHash("sha256").update(value).digest("hex"));
    expect(result.rows[0]![1]!.equals(value)).toBe(true);
  });

  test("COM_STMT_RESET, and a statement that was closed", async () => {
    await using client = await session(way.place);
    const { id } = await client.prepare("SELECT 1");
    expect((await client.simple(0x1a, uint(id, 4))).kind).toBe("ok");
    client.closeStatement(id);
    expect(plain([await client.simple(0x1a, uint(id, 4))])).toEqual([{ error: 1243, state: "HY000" }]);
  });

  test("PDO with native and with emulated prepares, and a text PREPARE", async () => {
    expect(
      await php(
        way.place,
        `
        $seen = [];
        foreach ([true, false] as $emulate) {
          $p = pdo([PDO::ATTR_EMULATE_PREPARES => $emulate]);
          $s = $p->prepare('SELECT a FROM t WHERE id=?');
          foreach ([1, 3] as $id) { $s->execute([$id]); $seen[] = $s->fetchColumn(); }
          $s = null;
          $p->exec("PREPARE s FROM 'SELECT 42'"); $seen[] = (int) $p->query('EXECUTE s')->fetchColumn();
        }
        return $seen;`,
      ),
    ).toEqual(["one", "three", 42, "one", "three", 42]);
  });
});
