/**
 * The life of connections: killed, frozen, timed out, too many; who waits and who is served.
 *
 * @module
 */
import { expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { forEachServer } from "../../support/db_matrix.ts";
import { counter, errorCode, look, session, visit } from "../../support/db_sessions.ts";
import { php } from "../../support/php_client.ts";
import { MysqlError, RawClient, uint } from "../../support/raw_client.ts";
import { allowSlowTests, waitFor, within } from "../../support/wait.ts";

allowSlowTests(120_000);

const init = [
  "CREATE TABLE test.t (id INT AUTO_INCREMENT PRIMARY KEY, a VARCHAR(40)) ENGINE=InnoDB",
  "INSERT INTO test.t(a) VALUES ('one')",
];
const size = 4;

forEachServer(
  "the life of connections",
  { database: { init }, proxy: { size, settings: { pool_timeout: "20s", connect_timeout: "2s" } } },
  (way) => {
    const others = "SELECT id FROM information_schema.processlist WHERE id<>CONNECTION_ID() AND user='tester'";
    const connected = async () => (await way.database.admin(others)).map(([id]) => id!);
    const running = async (sql: string) =>
      (await way.database.admin(`SELECT id FROM information_schema.processlist WHERE info='${sql}'`)).map(([id]) =>
        id!
      );

    test("T60 QUIT ends the session and not the backend", async () => {
      await look(way.place, "SELECT 1");
      const before = await counter(way.database, "Connections");
      for (let index = 0; index < 100; index++) {
        const client = await session(way.place);
        if (index % 2) await client.run("SELECT 1");
        await client.quit();
      }
      // Reading the counter is a connection too.
      const made = (await counter(way.database, "Connections")) - before - 1;
      if (way.proxied) expect(made).toBeLessThanOrEqual(size);
      else expect(made).toBe(100);
    });

    test("T60 QUIT as the first packet, and a client that only connects", async () => {
      const greeted = await RawClient.greet(way.place);
      greeted.destroy();
      const quitter = await RawClient.greet(way.place);
      quitter.command(1);
      quitter.stream.end();
      await within(15_000, "The end", quitter.stream.closed);
      expect(await look(way.place, "SELECT 1")).toBe("1");
    });

    test("T60 what was asked before QUIT, in one write with it, is answered whole", async () => {
      for (const bytes of [1, 3_000_000]) {
        const client = await session(way.place);
        client.command(3, `SELECT REPEAT('x',${bytes})`);
        client.command(1);
        const [result] = await client.results();
        expect(result?.kind === "rows" && result.rows[0]?.[0]?.length).toBe(bytes);
        await within(15_000, "The end", client.stream.closed);
      }
    });

    test("T57 connections that the server has timed out are not lent", async () => {
      for (const id of await connected()) await way.database.admin(`KILL ${id}`).catch(() => {});
      await way.database.admin("SET GLOBAL wait_timeout=1");
      try {
        await Promise.all(Array.from({ length: size }, () => look(way.place, "SELECT SLEEP(0.1)")));
        await waitFor(async () => (await connected()).length === 0, { what: "the server to time them out" });
      } finally {
        await way.database.admin("SET GLOBAL wait_timeout=28800");
      }
      for (let index = 0; index < size * 2; index++) expect(await look(way.place, "SELECT 1")).toBe("1");
    });

    test("who is idle for longer than its wait_timeout is told and cut as by the server", async () => {
      const words = async (...statements: readonly string[]): Promise<string[]> => {
        await using client = await session(way.place);
        await client.run(...statements);
        const heard: string[] = [];
        const hear = async () => {
          for (;;) {
            const { seq, payload } = await client.stream.read();
            heard.push(`${seq} ${payload.readUInt8(0)} ${payload.readUInt16LE(1)}`);
          }
        };
        void hear().catch(() => {});
        await within(15_000, "The end of an idle session", client.stream.closed);
        return heard;
      };
      const said = way.kind === "mysql" ? ["0 255 4031"] : [];
      expect(await words("SET wait_timeout=1", "SELECT 1")).toEqual(said);
      // The first thing a session asks for, and known by now: nothing but the server keeps the time.
      const first = [words("SET wait_timeout=1"), words("SET NAMES utf8mb4", "SET wait_timeout=1, sql_mode=''")];
      expect(await Promise.all(first)).toEqual([said, said]);
    });

    test("over a unix socket the next write of who was cut fails, as at the server", async () => {
      const { socket, user, password } = way.place;
      const client = spawn("mariadb", ["-S", socket, "-u", user, `-p${password}`, "--skip-reconnect"]);
      let said = "";
      client.stderr.on("data", (bytes) => said += String(bytes));
      client.stdin.end("SET wait_timeout=1;\nSELECT 1;\nsystem sleep 3\nSELECT 2;\n");
      await within(30_000, "The client", new Promise((done) => client.once("close", done)));
      expect(said).toContain("ERROR 2006 (HY000)");
    });

    test("T58 killed idle backends are not lent", async () => {
      await Promise.all(Array.from({ length: size }, () => look(way.place, "SELECT SLEEP(0.1)")));
      for (const id of await connected()) await way.database.admin(`KILL ${id}`).catch(() => {});
      await waitFor(async () => (await connected()).length === 0, { what: "the connections to be gone" });
      for (let index = 0; index < size * 2; index++) expect(await look(way.place, "SELECT 1")).toBe("1");
    });

    test("a session whose connection is killed is told or cut, and the next one served", async () => {
      await using client = await session(way.place);
      const id = await client.one("SELECT CONNECTION_ID()");
      await way.database.admin(`KILL ${id}`);
      await waitFor(async () => !(await connected()).includes(id!), { what: "the connection to be gone" });
      const failed = await client.one("SELECT 1").then(() => false, () => true);
      expect(failed).toBe(true);
      expect(await look(way.place, "SELECT 1")).toBe("1");
    });

    test("T67 the thread id is true, and KILL QUERY hits its session alone", async () => {
      await using one = await session(way.place);
      await using two = await session(way.place);
      const id = await one.one("SELECT CONNECTION_ID()");
      const ids = [id, await two.one("SELECT CONNECTION_ID()")];
      for (const [index, { greeting: { threadId } }] of [one, two].entries()) {
        // Where no connection could be promised, the proxy greets with an id of its own; KILL takes either.
        if (!way.proxied || threadId < 2 ** 30) expect(ids[index]).toBe(String(threadId));
      }
      const slow = "SELECT COUNT(*) FROM t WHERE SLEEP(100)=5";
      const spared = two.one("SELECT SLEEP(1.5)");
      for (const name of [id, one.greeting.threadId]) {
        const first = one.query(slow);
        await waitFor(async () => (await running(slow)).length === 1, { what: "the query to run" });
        await visit(way.place, (killer) => killer.run(`KILL QUERY ${name}`));
        const [killed] = await within(5000, "The killed query", first);
        expect(killed?.kind === "error" && killed.code).toBe(1317);
      }
      expect(await spared).toBe("0");
      expect(await one.one("SELECT 1")).toBe("1");
    });

    test("T67 KILL of an idle session closes it", async () => {
      await using one = await session(way.place);
      await one.run("SET @mine=1");
      await visit(way.place, (killer) => killer.run(`KILL ${one.greeting.threadId}`));
      await within(5000, "The killed session", one.stream.closed);
      expect(await errorCode(visit(way.place, (killer) => killer.run("KILL 99999999")))).toBe(1094);
      if (way.kind === "mariadb") {
        await using two = await session(way.place);
        await two.run("SET @mine=1");
        await visit(
          way.place,
          async (killer) => expect((await killer.simple(0x0c, uint(two.greeting.threadId, 4))).kind).toBe("ok"),
        );
        await within(5000, "The killed session", two.stream.closed);
      }
    });

    test("T67 mysqli's kill(), which MySQL 9 has no command for", async () => {
      const script = `
      $a = my(); $b = my(); one($a, 'SELECT 1');
      $refused = thrown(fn () => $b->kill($a->thread_id));
      if ($refused) return $refused[0];
      for ($n = 0; $n < 100 && !thrown(fn () => $a->query('DO 0')); $n++) usleep(20000);
      return thrown(fn () => $a->query('SELECT 1'))[0];`;
      expect(await php(way.place, script)).toBe(way.kind === "mysql" ? 1047 : 2006);
    });

    test("T62 T63 three hundred clients at once are all served, by no more backends than allowed", async () => {
      const before = await counter(way.database, "Threads_connected");
      let most = 0;
      let over = false;
      const watch = (async () => {
        while (!over) most = Math.max(most, await counter(way.database, "Threads_connected"));
      })();
      const seen = await Promise.all(
        Array.from({ length: way.proxied ? 300 : 100 }, () => look(way.place, "SELECT 1")),
      );
      over = true;
      await watch;
      expect(seen.every((value) => value === "1")).toBe(true);
      if (way.proxied) expect(most).toBeLessThanOrEqual(Math.max(before, 1) + size);
    });

    test.skipIf(!way.proxied)("T59 T80 a frozen server: an answer in time, and others when it thaws", async () => {
      // A connection used a moment ago is lent unasked: then, as directly, the answer is awaited.
      await new Promise((resolve) => setTimeout(resolve, 600));
      way.database.freeze();
      try {
        const asked = errorCode(session(way.place).then((client) => client.one("SELECT 1")));
        expect(await within(30_000, "The answer about a frozen server", asked)).toBe(2003);
      } finally {
        way.database.thaw();
      }
      await waitFor(() => look(way.place, "SELECT 1").then((value) => value === "1", () => false), {
        what: "the proxy to recover",
        timeout: 15_000,
      });
    });

    test("a database that is killed and comes back", async () => {
      const held = await session(way.place);
      await held.run("SET @x=1");
      await way.database.kill();
      expect(await held.one("SELECT 1").then(() => "served", () => "failed")).toBe("failed");
      held.destroy();
      const refused = await session(way.place).then((client) => client.one("SELECT 1")).then(
        () => undefined,
        (error) => error as Error,
      );
      expect(refused).toBeInstanceOf(Error);
      // The proxy answers in the protocol, never by a bare close.
      if (way.proxied) expect(refused).toBeInstanceOf(MysqlError);
      await way.database.start();
      const from = performance.now();
      await waitFor(() => look(way.place, "SELECT 1").then((value) => value === "1", () => false), {
        what: "service again",
      });
      expect(performance.now() - from).toBeLessThan(3000);
    });
  },
);

forEachServer(
  "a pool of one under want",
  { database: { init }, proxy: { size: 1, settings: { pool_timeout: "20s" } } },
  (way) => {
    test.skipIf(!way.proxied)("T64 who came first is served first", async () => {
      const holder = await session(way.place);
      await holder.run("SELECT GET_LOCK('held', 0)");
      const served: number[] = [];
      const waiters: Promise<void>[] = [];
      for (let index = 0; index < 50; index++) {
        const client = await session(way.place);
        waiters.push(
          client.one("SELECT 1").then(async () => {
            served.push(index);
            await client.quit();
          }),
        );
        // The next one's login is answered after this one's command was read.
        await RawClient.greet(way.place).then((probe) => probe.destroy());
      }
      expect(served).toEqual([]);
      await holder.quit();
      await Promise.all(waiters);
      expect(served).toEqual(served.map((_, index) => index));
      expect(served.length).toBe(50);
    });

    test.skipIf(!way.proxied)("T66 waiters that left are not served", async () => {
      const holder = await session(way.place);
      await holder.run("SET @x=1");
      for (let index = 0; index < 30; index++) {
        const client = await session(way.place);
        client.command(3, "INSERT INTO t(a) VALUES ('abandoned')");
        client.destroy();
      }
      const last = await session(way.place);
      const answer = last.one("SELECT COUNT(*) FROM t WHERE a='abandoned'");
      await holder.quit();
      // A command that was sent whole may have been taken up in the moment its client left.
      expect(Number(await within(5000, "The last one", answer))).toBeLessThan(3);
      await last.quit();
    });
  },
);

forEachServer("a pool of one with little patience", {
  database: { init },
  proxy: { size: 1, settings: { pool_timeout: "300ms", max_queue: 2 } },
}, (way) => {
  test.skipIf(!way.proxied)(
    "T52 T65 who waits too long, and who finds the queue full, gets a proper error",
    async () => {
      const holder = await session(way.place);
      await holder.run("SET @x=1");
      const refusals = await Promise.all(Array.from({ length: 6 }, () => errorCode(look(way.place, "SELECT 1"))));
      expect(refusals.every((code) => code === 1040 || code === 1203)).toBe(true);
      expect(refusals.filter((code) => code === 1040).length).toBeGreaterThanOrEqual(3);
      const [code, text] = await php(way.place, "return thrown(fn () => one(my(), 'SELECT 1'));") as [number, string];
      expect([1040, 1203].includes(code)).toBe(true);
      expect(text).not.toContain("out of order");
      await holder.quit();
      expect(await look(way.place, "SELECT 1")).toBe("1");
    },
  );
});

forEachServer("limits of 0", {
  database: { init },
  proxy: { size: 1, settings: { pool_timeout: "0s", idle_timeout: "0s", max_lifetime: "0s" } },
}, (way) => {
  test.skipIf(!way.proxied)("a connection lives on and is lent again, and nobody waits in line for it", async () => {
    const [first, second] = [
      await look(way.place, "SELECT CONNECTION_ID()"),
      await look(way.place, "SELECT CONNECTION_ID()"),
    ];
    expect(second).toBe(first);
    const holder = await session(way.place);
    await holder.run("SET @x=1");
    expect(await errorCode(look(way.place, "SELECT 1"))).toBe(1040);
    await holder.quit();
    await waitFor(() => look(way.place, "SELECT 1").then((value) => value === "1", () => false), {
      what: "the connection to be free",
    });
  });
});
