/**
 * Real clients: PHP's extensions, the command line programs, the drivers from npm. Each does the same through the proxy as
 * directly.
 *
 * @module
 */
import { expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import process from "node:process";
import { cli, cliTools, startCli } from "../../support/cli_client.ts";
import { forEachServer } from "../../support/db_matrix.ts";
import type { Place } from "../../support/database.ts";
import { php } from "../../support/php_client.ts";
import { runtimes } from "../../support/server.ts";
import { allowSlowTests, waitFor, within } from "../../support/wait.ts";

allowSlowTests(120_000);

const digits = [..."0123456789"].map((digit) => `(${digit})`).join(",");
const init = [
  "CREATE TABLE test.t (id INT AUTO_INCREMENT PRIMARY KEY, a VARCHAR(40)) ENGINE=InnoDB",
  "CREATE TABLE test.digits (d INT)",
  `INSERT INTO test.digits VALUES ${digits}`,
  "CREATE TABLE test.big (id INT PRIMARY KEY, v VARCHAR(60)) ENGINE=InnoDB",
  `INSERT INTO test.big SELECT a.d+10*b.d+100*c.d+1000*d.d+10000*e.d, CONCAT('row ', a.d, REPEAT('x', 40))
   FROM test.digits a, test.digits b, test.digits c, test.digits d, test.digits e`,
];
/** What the rows of `big` come to. */
const big = { rows: 100_000, sum: 99_999 * 50_000 };

forEachServer("clients", { database: { init }, proxy: { size: 8 }, hosts: runtimes() }, (way) => {
  for (const emulated of [true, false]) {
    for (const viaSocket of [false, true]) {
      const how = `${emulated ? "emulated" : "native"} prepares over ${viaSocket ? "the unix socket" : "TCP"}`;
      test(`PDO with ${how}`, async () => {
        const script = `
        $db = pdo([PDO::ATTR_EMULATE_PREPARES => ${emulated}, PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
          PDO::MYSQL_ATTR_INIT_COMMAND => "SET SESSION sql_mode='NO_BACKSLASH_ESCAPES'",
          PDO::MYSQL_ATTR_FOUND_ROWS => true]);
        $db->exec('CREATE TEMPORARY TABLE w (id INT AUTO_INCREMENT PRIMARY KEY, a VARCHAR(20), n DOUBLE, b LONGBLOB)');
        $add = $db->prepare('INSERT INTO w(a, n, b) VALUES (:a, :n, :b)');
        foreach (['Läufer', "a\\\\'b", null] as $i => $a) $add->execute(['a' => $a, 'n' => $i / 4, 'b' => random_bytes(70000)]);
        $id = $db->lastInsertId();
        $db->beginTransaction();
        $changed = $db->prepare('UPDATE w SET a=? WHERE a=?');
        $changed->execute(['Läufer', 'Läufer']);
        $inside = $db->inTransaction();
        $db->rollBack();
        $all = $db->prepare('SELECT id, a, n, LENGTH(b) l FROM w WHERE id >= ? ORDER BY id');
        $all->bindValue(1, 1, PDO::PARAM_INT);
        $all->execute();
        $rows = $all->fetchAll(PDO::FETCH_ASSOC);
        $all->execute();
        $one = $all->fetch(PDO::FETCH_NUM);
        $all->closeCursor();
        $twice = thrown(fn () => $db->prepare('INSERT INTO w(id) VALUES (?)')->execute([1]));
        $syntax = thrown(fn () => $db->prepare('SELEC ?')->execute([1]));
        $mode = one($db, 'SELECT @@sql_mode');
        $db->setAttribute(PDO::MYSQL_ATTR_USE_BUFFERED_QUERY, false);
        $sum = 0;
        foreach ($db->query('SELECT id FROM big') as $row) $sum += $row['id'];
        return [$id, $changed->rowCount(), $inside, $rows, $one, $twice, $syntax[0], $mode, $sum];`;
        const rows = [
          { id: 1, a: "Läufer", n: 0, l: 70000 },
          { id: 2, a: "a\\'b", n: 0.25, l: 70000 },
          { id: 3, a: null, n: 0.5, l: 70000 },
        ];
        expect(await php(way.place, script, { viaSocket })).toEqual([
          "3",
          1,
          true,
          rows,
          [1, "Läufer", 0, 70000],
          [
            1062,
            "SQLSTATE[23000]: Integrity constraint violation: 1062 Duplicate entry '1' for key '" +
            `${way.kind === "mysql" ? "w.PRIMARY" : "PRIMARY"}'`,
          ],
          1064,
          "NO_BACKSLASH_ESCAPES",
          big.sum,
        ]);
      });
    }
  }

  test("a persistent PDO keeps its session, and one that ended is replaced", async () => {
    const script = `
    $open = fn () => pdo([PDO::ATTR_PERSISTENT => true]);
    $db = $open(); $id = one($db, 'SELECT CONNECTION_ID()'); $db->exec('SET @mine=7'); $db->exec("SET NAMES latin1");
    $db = null;
    $db = $open(); $again = [one($db, 'SELECT CONNECTION_ID()') == $id, one($db, 'SELECT @mine'), one($db, 'SELECT @@character_set_client')];
    $other = my(); $other->query("KILL $id");
    for ($n = 0; $n < 200 && one($other, "SELECT COUNT(*) FROM information_schema.processlist WHERE id = $id"); $n++) usleep(10000);
    $db = null;
    $db = $open();
    return [$again, one($db, 'SELECT CONNECTION_ID()') == $id, one($db, 'SELECT @mine')];`;
    expect(await php(way.place, script)).toEqual([[true, 7, "latin1"], false, null]);
  });

  test("a persistent mysqli is a new session on the same connection", async () => {
    const script = `
    $open = fn () => my(['host' => 'p:' . $place['host']]);
    $db = $open(); $id = $db->thread_id; $db->query('SET @mine=7'); $db->query('CREATE TEMPORARY TABLE w (a INT)'); $db->close();
    $db = $open();
    return [$db->thread_id === $id, one($db, 'SELECT CONNECTION_ID()') == $id, one($db, 'SELECT @mine'),
      thrown(fn () => $db->query('SELECT * FROM w'))[0]];`;
    expect(await php(way.place, script)).toEqual([true, true, null, 1146]);
  });

  for (const tools of cliTools(way.kind)) {
    test(`${tools.title}: a script with a procedure and DELIMITER`, async () => {
      const script = `
SET NAMES utf8mb4;
SET @total = 0;
DROP PROCEDURE IF EXISTS adds;
DELIMITER //
CREATE PROCEDURE adds(IN n INT, OUT total INT)
BEGIN
  DECLARE i INT DEFAULT 0;
  SET total = 0;
  WHILE i < n DO SET i = i + 1; SET total = total + i; END WHILE;
  SELECT 'done; really' AS said;
END//
DELIMITER ;
CALL adds(10, @total);
SELECT @total;
USE mysql;
SELECT DATABASE();
SELECT 'a;b', "it's" -- a comment; with a semicolon
;
DROP PROCEDURE test.adds;
`;
      const output = await cli(tools.client, way.place, ["test"], script);
      expect(output).toBe("said\ndone; really\n@total\n55\nDATABASE()\nmysql\na;b\tit's\na;b\tit's\n");
    });

    for (const args of [["--quick"], ["--compress"], []]) {
      test(`${tools.title} ${args.join(" ")}: a big result`, async () => {
        const output = await cli(
          tools.client,
          way.place,
          ["test", ...args, "--skip-column-names"],
          "SELECT * FROM big;",
        );
        const lines = output.trimEnd().split("\n");
        expect(lines.length).toBe(big.rows);
        expect(lines.reduce((sum, line) => sum + Number(line.split("\t")[0]), 0)).toBe(big.sum);
        expect(lines.every((line) => /^\d+\trow \dx{40}$/.test(line))).toBe(true);
      });
    }

    test(`${tools.title}: Ctrl-C ends the query and not the session`, async () => {
      const slow = `SELECT COUNT(*) FROM t WHERE SLEEP(100) AND '${way.name}'<>''`;
      await way.database.admin("INSERT INTO test.t(a) VALUES ('one')");
      const running = async () =>
        (await way.database.admin(
          `SELECT id FROM information_schema.processlist WHERE info LIKE 'SELECT COUNT(*) FROM t WHERE SLEEP%'`,
        )).length;
      const run = startCli(
        tools.client,
        way.place,
        ["test", "--force", "--skip-column-names"],
        `${slow};\nSELECT 42;\n`,
      );
      await waitFor(async () => await running() === 1, { what: "the query to run" });
      process.kill(run.pid, "SIGINT");
      const { output, errors } = await within(10_000, "The interrupted client", run.ended);
      expect(errors).toMatch(/ERROR 1317 \(70100\)/);
      // Each client says in its own words that it has heard it.
      expect(output).toMatch(/^(\nCtrl-C -- query killed\.|\^C -- query aborted)\n42\n$/);
      expect(await running()).toBe(0);
    });
  }

  // Each server's own programs: the other's do not know all of its schemas.
  for (const tools of cliTools(way.kind).slice(-1)) {
    for (
      const args of [["--single-transaction"], ["--hex-blob", "--add-locks", "--lock-tables"], [
        "--compress",
        "--skip-extended-insert",
      ]]
    ) {
      test.skipIf(!way.proxied)(`${tools.title}'s dump with ${args.join(" ")}, and its restoration`, async () => {
        const schema = "shop";
        await way.database.admin(...shop);
        const dump = async (place: Place, name: string) =>
          undated(await cli(tools.dump, place, [...args, "--routines", "--triggers", "--events", name]));
        const direct = await dump(way.database, schema);
        expect(direct).toMatch(/TRIGGER `?sold/);
        expect(direct).toContain("PROCEDURE `restock`");
        expect(await dump(way.place, schema) === direct).toBe(true);
        const restored = async (place: Place) => {
          await way.database.admin("DROP DATABASE IF EXISTS copied", "CREATE DATABASE copied CHARACTER SET utf8mb4");
          await cli(tools.client, place, ["copied"], direct);
          return await dump(way.database, "copied");
        };
        const copied = await restored(way.database);
        expect(copied).toContain("PROCEDURE `restock`");
        expect(await restored(way.place) === copied).toBe(true);
      });
    }
  }

  test("mysql2: a pool, prepared statements and transactions", async () => {
    const { createPool } = await import("mysql2/promise");
    const pool = createPool({ ...login(way.place), connectionLimit: 4 });
    try {
      await pool.query(
        "CREATE TABLE IF NOT EXISTS pooled (id INT AUTO_INCREMENT PRIMARY KEY, a VARCHAR(40), d DATETIME(3), j JSON)",
      );
      await pool.query("TRUNCATE pooled");
      await Promise.all(Array.from({ length: 40 }, async (_, index) => {
        const link = await pool.getConnection();
        try {
          await link.beginTransaction();
          const at = new Date(Date.UTC(2026, 0, 1, 0, 0, 0, index));
          await link.execute("INSERT INTO pooled(a, d, j) VALUES (?, ?, ?)", [
            `ä${index}`,
            at,
            JSON.stringify({ index }),
          ]);
          await (index % 2 ? link.rollback() : link.commit());
        } finally {
          link.release();
        }
      }));
      const [rows] = await pool.execute("SELECT a, d, j FROM pooled WHERE a <> ? ORDER BY d", ["none"]);
      const found = rows as { a: string; d: Date; j: unknown }[];
      expect(found.map(({ a }) => a)).toEqual(Array.from({ length: 20 }, (_, index) => `ä${index * 2}`));
      expect(found[3]!.d.getMilliseconds()).toBe(6);
      const refused = await pool.execute("SELECT * FROM nothing_here").then(() => undefined, (error) => error);
      expect([refused.errno, refused.sqlState]).toEqual([1146, "42S02"]);
      const [sums] = await pool.execute("SELECT ? + 1 AS n", [41]);
      expect((sums as { n: number }[]).map(({ n }) => Number(n))).toEqual([42]);
    } finally {
      await pool.end();
    }
  });

  for (const compress of [false, true]) {
    test(`mysql2${compress ? " with compression" : ""}: several statements at once, a stream of rows, a long value`, async () => {
      const { createConnection } = await import("mysql2");
      const link = createConnection({ ...login(way.place), multipleStatements: true, compress });
      const query = (sql: string, values: unknown[] = []) =>
        // deno-lint-ignore no-explicit-any -- whatever was asked for
        new Promise<any>((resolve, reject) =>
          link.query(sql, values, (error, rows) => error ? reject(error) : resolve(rows))
        );
      try {
        const [, first, , second] = await query("SET @a=1; SELECT @a AS a; DO 0; SELECT 2 AS b, 3 AS c");
        expect([first, second]).toEqual([[{ a: 1 }], [{ b: 2, c: 3 }]]);
        expect((await query("SELECT 1 AS a; SELECT nothing").catch((error) => error)).errno).toBe(1054);
        const long = Buffer.alloc(3_000_000, "long value ").toString();
        expect((await query("SELECT ? AS v", [long]))[0].v === long).toBe(true);
        let [rows, sum] = [0, 0];
        await new Promise<void>((resolve, reject) => {
          const stream = link.query("SELECT * FROM big").stream({ highWaterMark: 50 });
          stream.on("data", ({ id }: { id: number }) => (rows++, sum += id)).on("end", resolve).on("error", reject);
        });
        expect({ rows, sum }).toEqual(big);
        expect(await query("SELECT 1 AS a")).toEqual([{ a: 1 }]);
      } finally {
        await new Promise((done) => link.end(done));
      }
    });
  }

  for (const compress of [false, true]) {
    test(`mariadb from npm${compress ? " with compression" : ""}: pipelined commands, batches, streams`, async () => {
      const { createConnection } = await import("mariadb");
      const link = await createConnection({
        ...login(way.place),
        compress,
        pipelining: true,
        allowPublicKeyRetrieval: true,
      });
      try {
        // All are sent before the first is answered.
        const sums = Array.from(
          { length: 200 },
          (_, index) =>
            index % 50 === 49
              ? link.query("SELECT nothing").catch((error) => error.errno)
              : link.execute("SELECT ? + ? AS n", [index, 1]).then((rows) => Number(rows[0].n)),
        );
        expect(await Promise.all(sums)).toEqual(sums.map((_, index) => index % 50 === 49 ? 1054 : index + 1));
        await link.query("CREATE TEMPORARY TABLE batched (id INT AUTO_INCREMENT PRIMARY KEY, a VARCHAR(40), b BLOB)");
        const values = Array.from(
          { length: 500 },
          (_, index) => [`ä${index}`, index % 7 ? Buffer.of(index & 255, 0, 255) : null],
        );
        // Without MariaDB's own bulk command, which the proxy does not offer, each row has a result.
        const done: { affectedRows: number } | { affectedRows: number }[] = await link.batch(
          "INSERT INTO batched(a, b) VALUES (?, ?)",
          values,
        );
        expect([done].flat().reduce((sum, { affectedRows }) => sum + affectedRows, 0)).toBe(500);
        const back = await link.query({ sql: "SELECT a, b FROM batched ORDER BY id", rowsAsArray: true });
        expect(back.map((row: unknown[]) => [row[0], row[1]])).toEqual(values);
        let [rows, sum] = [0, 0];
        for await (const row of link.queryStream("SELECT id FROM big")) rows++, sum += row.id;
        expect({ rows, sum }).toEqual(big);
        // The driver has no COM_CHANGE_USER for MySQL.
        if (way.kind === "mysql") await link.reset();
        else await link.changeUser({ user: way.place.user, password: way.place.password, database: "test" });
        expect(await link.query("SELECT * FROM batched").catch((error) => error.errno)).toBe(1146);
        await link.ping();
      } finally {
        await link.end();
      }
    });
  }
});

function login({ host, port, user, password }: Place) {
  return { host, port, user, password, database: "test", charset: "utf8mb4" };
}

const utf8 = "Grüße, 世界, 🦀";
/** A schema with everything a dump has words for. */
const shop = [
  "DROP DATABASE IF EXISTS shop",
  "CREATE DATABASE shop CHARACTER SET utf8mb4",
  "USE shop",
  `CREATE TABLE goods (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(60) NOT NULL DEFAULT '${utf8}' COMMENT 'it''s',
   price DECIMAL(10,2), kept ENUM('cold','dry') DEFAULT 'dry', photo LONGBLOB, seen TIMESTAMP NULL, half DOUBLE,
   doubled DECIMAL(11,2) AS (price * 2) STORED, bits BIT(5), at POINT, KEY by_name (name(10)), FULLTEXT KEY words (name)) ENGINE=InnoDB`,
  "CREATE TABLE sales (id INT PRIMARY KEY, good INT) ENGINE=InnoDB PARTITION BY HASH(id) PARTITIONS 2",
  "CREATE TABLE parts (id INT PRIMARY KEY, good INT, CONSTRAINT part FOREIGN KEY (good) REFERENCES goods(id) ON DELETE CASCADE) ENGINE=InnoDB",
  "CREATE TABLE log (id INT AUTO_INCREMENT PRIMARY KEY, what TEXT) ENGINE=MyISAM",
  `INSERT INTO goods(name, price, photo, seen, half, bits, at) VALUES
   ('${utf8}', 1.5, CONCAT(x'00ff27225c0a0d1a', REPEAT(UNHEX(SHA2('a', 256)), 10000)), '2026-01-02 03:04:05', 0.1, b'10101', POINT(1, 2)),
   ('it''s; -- not a comment', NULL, '', NULL, 1e300, NULL, NULL), ('', -0.01, NULL, '1971-01-01 00:00:01', -0, b'0', NULL)`,
  "INSERT INTO parts VALUES (1, 1), (2, 2)",
  "INSERT INTO sales VALUES (1, 1), (2, 1), (3, 2)",
  "CREATE VIEW dear AS SELECT id, name FROM goods WHERE price > 1",
  "CREATE VIEW all_dear AS SELECT d.id, s.id AS sale FROM dear d JOIN sales s ON s.good = d.id",
  "CREATE TRIGGER sold AFTER INSERT ON sales FOR EACH ROW INSERT INTO log(what) VALUES (CONCAT('sold; ', NEW.good))",
  `CREATE PROCEDURE restock(IN n INT) BEGIN DECLARE i INT DEFAULT 0; WHILE i < n DO SET i = i + 1; END WHILE; SELECT '${utf8}'; END`,
  "CREATE FUNCTION twice(n INT) RETURNS INT DETERMINISTIC RETURN n * 2",
  "CREATE EVENT nightly ON SCHEDULE EVERY 1 DAY STARTS '2030-01-01 00:00:00' DISABLE DO DELETE FROM log",
];

/** A dump without the moment it was made. */
function undated(dump: string): string {
  return dump.replace(/^-- Dump completed on .*$/m, "");
}
