/**
 * Who a session is: its connection id, KILL, and COM_CHANGE_USER, for users of the proxy's own and of the server's.
 *
 * @module
 */
import { expect, test } from "bun:test";
import { tester } from "../../support/database.ts";
import { forEachServer, type Way } from "../../support/db_matrix.ts";
import { errorCode, look, session, visit } from "../../support/db_sessions.ts";
import { php } from "../../support/php_client.ts";
import { RawClient } from "../../support/raw_client.ts";
import { allowSlowTests, waitFor } from "../../support/wait.ts";

allowSlowTests(60_000);

const other = { user: "other", password: "a password of more than twenty characters" } as const;
const init = [
  `CREATE USER '${other.user}'@'%' IDENTIFIED BY '${other.password}'`,
  `GRANT ALL ON test.* TO '${other.user}'@'%'`,
];
const settings = { auth: "users", users: { [tester.user]: tester.password }, unknown_users: "relay" };

/** What a list of changes of the user leads to, each in a session of its own that has used its connection before. */
const changes = `
  mysqli_report(MYSQLI_REPORT_OFF);
  set_error_handler(null);
  $tell = fn($link, $sql) => ($r = @$link->query($sql)) ? $r->fetch_row() : [$link->errno, $link->sqlstate];
  $out = [];
  foreach (CHANGES as [$user, $password, $schema]) {
    $link = my();
    foreach (['SET @x=1', 'SET autocommit=0', 'CREATE TEMPORARY TABLE tmp(a INT)'] as $sql) $link->query($sql);
    $id = one($link, 'SELECT CONNECTION_ID()');
    $done = @$link->change_user($user, $password, $schema);
    $error = [$link->errno, $link->sqlstate, str_replace($place['host'], 'HOST', $link->error)];
    $state = $tell($link, 'SELECT DATABASE(), SUBSTRING_INDEX(USER(), "@", 1), @x, @@autocommit');
    $out[] = [$done, $error, $state, $tell($link, 'SELECT 1 FROM tmp')[0], $tell($link, "SELECT CONNECTION_ID() = $id")[0]];
  }
  return $out;`;

const changed = (way: Way, list: readonly (readonly [string, string, string])[]) =>
  php(
    way.place,
    changes.replace("CHANGES", JSON.stringify(list)),
  );

forEachServer("identity", { database: { init }, proxy: { size: 20, settings } }, (way) => {
  const me = tester.user, password = tester.password;

  test("a change of the user begins a new session on the same connection", async () => {
    const fresh = (
      schema: string | null,
    ) => [true, [0, "00000", ""], [schema, me, null, "1"], schema ? 1146 : 1046, "1"];
    expect(await changed(way, [[me, password, "test"], [me, password, ""], [me, password, "mysql"]]))
      .toEqual([fresh("test"), fresh(null), fresh("mysql")]);
  });

  test("a refused change ends the connection on MySQL, and on MariaDB the session only", async () => {
    const denied = (name: string, using: string) => [
      false,
      [1045, "28000", `Access denied for user '${name}'@'HOST' (using password: ${using})`],
    ];
    const after = way.kind === "mysql" ? [[2006, "HY000"], 2006, 2006] : [["test", me, null, "1"], 1146, "1"];
    expect(
      await changed(way, [[me, "wrong", "test"], [me, "", "test"], ["nobody", "x", "test"], [me, password, "nowhere"]]),
    )
      .toEqual([
        [...denied(me, "YES"), ...after],
        [...denied(me, "NO"), ...after],
        [...denied("nobody", "YES"), ...after],
        [false, [1049, "42000", "Unknown database 'nowhere'"], ...after],
      ]);
  });

  test.skipIf(way.kind === "mysql")(
    "MariaDB hears no more changes after three refusals, and the session goes on",
    async () => {
      const codes = await php(
        way.place,
        `mysqli_report(MYSQLI_REPORT_OFF); $link = my(); $codes = [];
      for ($i = 0; $i < 5; $i++) { @$link->change_user('${me}', 'wrong', 'test'); $codes[] = $link->errno; }
      $codes[] = one($link, 'SELECT 1'); return $codes;`,
      );
      expect(codes).toEqual([1045, 1045, 1045, 1047, 1047, "1"]);
    },
  );

  test("a user whom only the server knows logs in, and is changed to and from", async () => {
    const who = await php(
      way.place,
      `$is = fn($link) => explode('@', one($link, 'SELECT USER()'))[0];
      $link = my(['user' => '${other.user}', 'password' => '${other.password}']);
      $users = [$is($link)];
      $change = function ($link, $user, $password) use (&$users, $is) { $link->change_user($user, $password, 'test'); $users[] = $is($link); };
      $change($link, '${me}', '${password}');
      $change($link, '${other.user}', '${other.password}');
      $link = my();
      $change($link, '${other.user}', '${other.password}');
      $change($link, '${me}', '${password}');
      return $users;`,
    );
    expect(who).toEqual([other.user, me, other.user, other.user, me]);
  });

  test.skipIf(way.kind === "mariadb")("an expired password opens a session that can set a new one only", async () => {
    await way.database.admin("DROP USER IF EXISTS old", "CREATE USER old IDENTIFIED BY 'old' PASSWORD EXPIRE");
    const codes = await php(
      way.place,
      `$change = ['user' => 'old', 'password' => 'old', 'db' => ''];
      $codes = [thrown(fn() => my($change))[0]];
      $link = my($change, 0, [MYSQLI_OPT_CAN_HANDLE_EXPIRED_PASSWORDS => 1]);
      $codes[] = thrown(fn() => $link->query('SELECT 1'))[0];
      $link->query("SET PASSWORD='new'");
      $codes[] = one($link, 'SELECT 1');
      return $codes;`,
    );
    expect(codes).toEqual([1862, 1820, "1"]);
  });

  test.skipIf(way.kind === "mariadb")("sha256_password with a long password", async () => {
    const secret = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    await way.database.admin(
      "DROP USER IF EXISTS sha",
      `CREATE USER sha IDENTIFIED WITH sha256_password BY '${secret}'`,
    );
    for (const viaSocket of way.proxied ? [false, true] : [false]) {
      const body = `return one(my(['user' => 'sha', 'password' => '${secret}', 'db' => '']), 'SELECT USER()');`;
      expect(String(await php(way.place, body, { viaSocket }))).toMatch(/^sha@/);
    }
  });

  test("the id a client is greeted with is its connection's, in the process list too, before it has asked for anything", async () => {
    // What clients are like is known from the last ones, and there are connections in advance, but not at once.
    const isListed = async (): Promise<boolean> => {
      await using first = await session(way.place);
      await using second = await session(way.place);
      const listed = (await first.rows("SHOW PROCESSLIST")).map(([id]) => id);
      return await first.one("SELECT CONNECTION_ID()") === String(first.greeting.threadId) &&
        listed.includes(String(second.greeting.threadId));
    };
    for (let round = 0; round < 5; round++) await waitFor(isListed, { what: "true ids" });
  });

  test("KILL of another, idle or not, by the id it was greeted with", async () => {
    for (const used of [false, true]) {
      await using killer = await session(way.place);
      await using victim = await session(way.place);
      const id = victim.greeting.threadId;
      if (used) await victim.one("SELECT 1");
      await killer.run(`KILL QUERY ${id}`);
      expect(await victim.one("SELECT 2")).toBe("2");
      await killer.run(`KILL ${id}`);
      await expect(victim.one("SELECT 3")).rejects.toThrow();
      expect(await errorCode(killer.run(`KILL ${id}`))).toBe(1094);
      const listed = await killer.rows("SHOW PROCESSLIST");
      expect(listed.map(([listedId]) => listedId)).not.toContain(String(id));
    }
  });

  test("KILL of the session itself is answered as the server answers it", async () => {
    for (const used of [false, true]) {
      await using client = await session(way.place);
      const id = client.greeting.threadId;
      if (used) await client.one("SELECT 1");
      expect(await errorCode(client.run(`KILL QUERY ${id}`))).toBe(1317);
      expect(await errorCode(client.run(`KILL ${id}`))).toBe(way.kind === "mysql" ? 1317 : 1927);
      await expect(client.one("SELECT 1")).rejects.toThrow();
    }
  });

  test("who may kill whom is the server's to say", async () => {
    await using mine = await session(way.place);
    await using theirs = await session(way.place, other);
    await mine.one("SELECT 1");
    expect(await errorCode(theirs.run(`KILL ${mine.greeting.threadId}`))).toBe(1095);
    expect(await mine.one("SELECT 1")).toBe("1");
    await mine.run(`KILL ${theirs.greeting.threadId}`);
    await expect(theirs.one("SELECT 1")).rejects.toThrow();
    expect(await look(way.place, "SELECT 1")).toBe("1");
  });

  test("a schema's collation is the one it has now", async () => {
    await way.database.admin("CREATE DATABASE IF NOT EXISTS shifting");
    await visit(way.place, (client) => client.run("ALTER DATABASE shifting COLLATE latin1_swedish_ci"));
    const collation = () => look(way.place, "SELECT @@collation_database", { database: "shifting" });
    expect(await collation()).toBe("latin1_swedish_ci");
    await visit(way.place, (client) => client.run("ALTER DATABASE shifting COLLATE utf8mb4_bin"));
    for (let round = 0; round < 3; round++) expect(await collation()).toBe("utf8mb4_bin");
  });

  test("who connects again has another id", async () => {
    for (let round = 0; round < 5; round++) {
      const ids = [];
      for (let i = 0; i < 2; i++) {
        ids.push(
          await visit(way.place, async (client) => {
            await client.one("SELECT 1");
            return client.greeting.threadId;
          }),
        );
      }
      expect(ids[0]).not.toBe(ids[1]!);
    }
  });

  test.skipIf(way.kind === "mariadb")("a password that the client encrypts with the server's own key", async () => {
    await way.database.admin("DROP USER IF EXISTS keyed", "CREATE USER keyed IDENTIFIED BY 'keyed'");
    const rows = await way.database.admin("SHOW STATUS LIKE 'Caching_sha2_password_rsa_public_key'");
    const who = await php(
      way.place,
      `$file = tempnam(sys_get_temp_dir(), 'key');
      file_put_contents($file, ${JSON.stringify(rows[0]![1])});
      try {
        return one(my(['user' => 'keyed', 'password' => 'keyed', 'db' => ''], 0, [MYSQLI_SERVER_PUBLIC_KEY => $file]), 'SELECT USER()');
      } finally { unlink($file); }`,
    );
    expect(String(who)).toMatch(/^keyed@/);
  });

  test("a session that has chosen its schema later leaves none to one without", async () => {
    for (let round = 0; round < 4; round++) {
      await using client = await RawClient.login(way.place);
      expect(await client.one("SELECT DATABASE()")).toBe(null);
      await client.simple(2, "test");
      expect(await client.one("SELECT DATABASE()")).toBe("test");
      await client.quit();
      await using next = await RawClient.login(way.place);
      await next.simple(2, "mysql");
      expect(await next.one("SELECT DATABASE()")).toBe("mysql");
    }
  });

  test("replies to commands of one frame and of several", async () => {
    await using client = await session(way.place);
    // With its byte for the command: just one frame; a full one and an empty one; two.
    for (const length of [0xfffffe - 1, 0xffffff - 1, 0xffffff]) {
      const sql = "SELECT LENGTH('')";
      const text = sql.replace("''", `'${"x".repeat(length - sql.length)}'`);
      expect(await client.one(text)).toBe(String(length - sql.length));
      expect(await client.one("SELECT 'after'")).toBe("after");
    }
  });
});
