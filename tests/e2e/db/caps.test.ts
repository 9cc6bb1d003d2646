/**
 * Caps on statements (`[[bulkhead.statements]]`), with a real server behind the proxy.
 *
 * @module
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startProxy, type TestProxy } from "../../support/db_proxy.ts";
import { errorCode, look, plain, session } from "../../support/db_sessions.ts";
import { hasMariaDb, type MariaDb, startMariaDb } from "../../support/mariadb.ts";
import { RedisServer } from "../../bulkhead/redis/server.ts";
import { FLAGS, type RawClient, type RawOptions, type Result, uint } from "../../support/raw_client.ts";
import { hosts, runToExit } from "../../support/server.ts";
import { allowSlowTests, waitFor } from "../../support/wait.ts";

allowSlowTests(60_000);

const suite = hasMariaDb() ? describe : describe.skip;
const size = 6;
/** What holds a permit until it is killed. */
const forever = "SELECT SLEEP(30)";

/** The digest of `SELECT SLEEP(?)`, as `/-/db/queries` shows it. Configurations name digests: they must not change. */
const sleeps = "6aac08a5aaec5d45";

const bulkhead = {
  statements: [
    { user: "laps", text: "SELECT `SLEEP` (?)%", name: "laps", max_concurrent: 2, max_wait: "20s" },
    { user: "hasty", name: "hasty", max_concurrent: 1 },
    { user: "patient", name: "patient", max_concurrent: 1, max_wait: "20s" },
    { user: "short", name: "short", max_concurrent: 1, max_wait: "100ms" },
    { user: ["anna", "bert"], key: "user", name: "each", max_concurrent: 1 },
    {
      db: "mysql",
      user: "prepares",
      text: ["SELECT `SLEEP`%", "SELECT `LENGTH` (?)"],
      name: "sums",
      max_concurrent: 1,
    },
  ],
};

interface View {
  readonly active: number;
  readonly queued: number;
  readonly held: readonly Record<string, unknown>[];
  readonly waiting: readonly Record<string, unknown>[];
}

/** A statement that runs until it is ended; its session leaves then. */
interface Holder extends AsyncDisposable {
  readonly client: RawClient;
  end(): Promise<void>;
}

for (const host of hosts()) {
  suite(`capped statements, on ${host}`, () => {
    let database: MariaDb, proxy: TestProxy;

    beforeAll(async () => {
      database = await startMariaDb();
      proxy = await startProxy({ upstream: database, size, bulkhead, host, settings: { pool_timeout: "20s" } });
      // The schema is known then: nobody needs a connection to log in.
      await look(proxy, "SELECT 1");
    });
    afterAll(async () => {
      await proxy?.stop();
      await database?.stop();
    });

    const login = (user: string, options: RawOptions = {}): Promise<RawClient> => session(proxy, { user, ...options });
    const processes = async (like: string) =>
      (await database.admin(
        `SELECT id FROM information_schema.processlist WHERE info LIKE '${like}' AND id<>CONNECTION_ID()`,
      )).map(([id]) => id!);
    /** How many sleep: a process is shown for a moment longer than its reply takes. */
    const sleeping = async () => {
      const list = "information_schema.processlist WHERE info LIKE 'SELECT SLEEP(%' AND state='User sleep'";
      return Number((await database.admin(`SELECT COUNT(*) FROM ${list}`))[0]![0]);
    };
    const view = async (name: string): Promise<View> => {
      const response = await fetch(`${proxy.server.adminUrl}/-/bulkheads?name=${name}`);
      const { bulkheads: [seen] = [] } = await response.json() as { bulkheads?: View[] };
      return seen ?? { active: 0, queued: 0, held: [], waiting: [] };
    };
    const until = (name: string, active: number, queued: number) =>
      waitFor(async () => {
        const seen = await view(name);
        return seen.active === active && seen.queued === queued;
      }, { what: `${active} in ${name} and ${queued} in line`, every: 5 });

    /** Takes the permit of a bulkhead that has one. */
    const hold = async (user: string, name = user): Promise<Holder> => {
      const client = await login(user);
      const over = client.query(forever).catch(() => {});
      await until(name, 1, 0);
      const [id] = await waitFor(async () => {
        const all = await processes(forever);
        return all.length > 0 ? all : undefined;
      }, { what: "it to run", every: 5 });
      let ended = false;
      const end = async () => {
        if (ended) return;
        ended = true;
        await database.admin(`KILL QUERY ${id}`).catch(() => {});
        await over;
        await client.quit().catch(() => {});
      };
      return { client, end, [Symbol.asyncDispose]: end };
    };
    const refusal = async (asked: Promise<Result[]>) => {
      const [result] = await asked;
      return result?.kind === "error" ? [result.code, result.state, result.message] as const : ["none"] as const;
    };

    test("no more than the cap run, all are served, and nobody is overtaken", async () => {
      const clients = await Promise.all(Array.from({ length: 20 }, () => login("laps")));
      let most = 0, over = false;
      const watch = (async () => {
        while (!over) most = Math.max(most, await sleeping());
      })();
      const answers = await Promise.all(clients.map(async (client) => {
        const answer = await client.one("SELECT SLEEP(0.05)");
        await client.quit();
        return answer;
      }));
      over = true;
      await watch;
      expect(answers).toEqual(clients.map(() => "0"));
      expect([1, 2]).toContain(most);
      await until("laps", 0, 0);
      const metrics = await proxy.server.metrics();
      const outcome = (of: string) => metrics.get(`fairlead_bulkhead_total{bulkhead="laps",outcome="${of}"}`) ?? 0;
      expect([outcome("immediate"), outcome("queued"), outcome("timeout")]).toEqual([2, 18, 0]);
      expect(metrics.get('fairlead_bulkhead_overtakes_total{bulkhead="laps"}') ?? 0).toBe(0);
    });

    test("who is not let in hears why and goes on, and what came together is answered in order", async () => {
      await using holder = await hold("hasty");
      await using other = await login("hasty");
      expect((await view("hasty")).held).toMatchObject([
        { db: "mysql", user: "hasty", connection: holder.client.greeting.threadId },
      ]);
      const [code, state, text] = await refusal(other.query("SELECT 1"));
      expect([code, state]).toEqual([1226, "42000"]);
      expect(text).toContain("Bulkhead hasty of Fairlead lets 1 of these statements run at a time");
      expect(text).toContain("raise max_concurrent");
      // MariaDB runs any statement behind FOR. A variable named like a keyword is not quoted in a digest.
      for (const name of ["timestamp", "max_statement_time"]) {
        expect((await refusal(other.query(`SET STATEMENT ${name}=5 FOR SELECT 1`)))[0]).toBe(1226);
      }
      // In one write. What ends a transaction never waits.
      const packet = (sql: string) => Buffer.concat([uint(sql.length + 1, 3), Buffer.of(0, 3), Buffer.from(sql)]);
      other.stream.write(Buffer.concat(["SELECT 2", "COMMIT", "SELECT 3"].map(packet)));
      const answers: unknown[] = [];
      for (let i = 0; i < 3; i++) {
        other.stream.forget();
        answers.push(...await other.results());
      }
      expect(answers.map((answer) => (answer as Result).kind)).toEqual(["error", "ok", "error"]);
      const long = `SELECT LENGTH('${"x".repeat(300_000)}')`;
      expect((await refusal(other.query(long)))[0]).toBe(1226);
      await holder.end();
      expect(await other.one("SELECT 4")).toBe("4");
      expect(await other.one(long)).toBe("300000");
      await until("hasty", 0, 0);
    });

    test("a wait ends at max_wait, or when the client leaves, or is told KILL QUERY", async () => {
      await using holder = await hold("short");
      await using late = await login("short");
      const [code, , text] = await refusal(late.query("SELECT 1"));
      expect(code).toBe(1226);
      expect(text).toMatch(/none ended in 1\d\d ms/);
      await holder.end();
      expect(await late.one("SELECT 1")).toBe("1");

      await using second = await hold("patient");
      const [leaver, killed, next, killer] = await Promise.all(
        ["patient", "patient", "patient", "patient"].map((user) => login(user)),
      );
      leaver!.query("SELECT 'leaver'").catch(() => {});
      await until("patient", 1, 1);
      const victim = killed!.query("SELECT 'killed'");
      await until("patient", 1, 2);
      const served = next!.one("SELECT 'next'");
      await until("patient", 1, 3);
      expect((await view("patient")).waiting.map(({ connection }) => connection)).toEqual(
        [leaver, killed, next].map((one) => one!.greeting.threadId),
      );
      leaver!.destroy();
      await until("patient", 1, 2);
      await killer!.run(`KILL QUERY ${killed!.greeting.threadId}`);
      expect((await refusal(victim)).slice(0, 2)).toEqual([1317, "70100"]);
      await until("patient", 1, 1);
      await second.end();
      expect(await served).toBe("next");
      expect(await killed!.one("SELECT 'lives'")).toBe("lives");
      for (const client of [killed!, next!, killer!]) await client.quit();
      await until("patient", 0, 0);
    });

    test("a permit is back when its client, its connection or its session was killed, and not before it has ended", async () => {
      const gone = await hold("hasty");
      gone.client.destroy();
      await until("hasty", 0, 0);
      expect(await sleeping()).toBe(0);
      const lost = await hold("hasty");
      for (const id of await processes(forever)) await database.admin(`KILL ${id}`);
      await until("hasty", 0, 0);
      await lost.end();
      const killed = await hold("hasty");
      await look(proxy, "SELECT 1", { user: "hasty" }).catch(() => {});
      await using killer = await login("hasty");
      await killer.run(`KILL ${killed.client.greeting.threadId}`);
      await until("hasty", 0, 0);
      await killed.end();
    });

    test("each user has a cap of its own with key = user", async () => {
      await using _anna = await hold("anna", "each/anna");
      expect((await refusal((await login("anna")).query("SELECT 1")))[2]).toContain("Bulkhead each/anna");
      expect(await look(proxy, "SELECT 1", { user: "bert" })).toBe("1");
    });

    test("a prepared statement counts by its own digest, and one that was refused forgets what was sent ahead", async () => {
      await using client = await login("prepares");
      const { id } = await client.prepare("SELECT LENGTH(?)");
      const ahead = () => client.command(0x18, Buffer.concat([uint(id, 4), uint(0, 2), Buffer.from("four")]));
      const execute = async () => {
        // A parameter that was sent ahead, of type BLOB.
        client.command(0x17, Buffer.concat([uint(id, 4), Buffer.of(0), uint(1, 4), Buffer.of(0, 1, 252, 0)]));
        return plain(await client.results(true));
      };
      await using holder = await hold("prepares", "sums");
      ahead();
      expect(await execute()).toEqual([{ error: 1226, state: "42000" }]);
      expect(await client.one("SELECT 1")).toBe("1");
      await holder.end();
      ahead();
      // It would be eight if those were still there that were sent before.
      expect(await execute()).toEqual([[["4"]]]);
    });

    test("in a transaction COMMIT never waits, and half the connections are not taken by those who wait", async () => {
      const clients = await Promise.all(Array.from({ length: size - 1 }, () => login("patient")));
      // Each has a connection from here on.
      for (const client of clients) await client.run("START TRANSACTION");
      const [first, second, third, fourth] = clients as [RawClient, RawClient, RawClient, RawClient];
      const connection = await first.one("SELECT CONNECTION_ID()");
      await using holder = await hold("patient");
      const waits = [first, second, third].map((client) => client.query("SELECT 1"));
      await until("patient", 1, size / 2);
      expect((await refusal(fourth.query("SELECT 1")))[0]).toBe(1226);
      await fourth.run("COMMIT");
      await fourth.quit();
      // Who has none waits beside them.
      await using without = await login("patient");
      const beside = without.one("SELECT 2");
      await until("patient", 1, size / 2 + 1);
      // The connection of one who waits dies: that ends his session alone.
      await database.admin(`KILL ${connection}`);
      expect((await refusal(waits[0]!))[0]).toBe(2013);
      await until("patient", 1, size / 2);
      await holder.end();
      expect((await Promise.all(waits.slice(1))).map(([result]) => result!.kind)).toEqual(["rows", "rows"]);
      expect(await beside).toBe("2");
      for (const client of clients) client.destroy();
      await until("patient", 0, 0);
    });

    test("several statements in one text are one, with the digest that they have together", async () => {
      const multi = { flags: FLAGS.MULTI_STATEMENTS };
      await using holder = await hold("prepares", "sums");
      await using client = await login("prepares", multi as RawOptions);
      expect((await refusal(client.query("SELECT SLEEP(0); SELECT 1")))[0]).toBe(1226);
      expect(await errorCode(client.run("SELECT 1"))).toBe(0);
      await holder.end();
      expect(plain(await client.query("SELECT SLEEP(0); SELECT 1")).length).toBe(2);
    });

    test("in Redis it is one cap for two proxies, and what a killed one held comes back", async () => {
      const redis = await RedisServer.start();
      const shared = {
        store: "redis",
        redis: { url: redis.url },
        statements: [{ digest: sleeps, name: "sleeps", max_concurrent: 2, max_wait: "20s", lease: "1s" }],
      };
      const start = () => startProxy({ upstream: database, host, bulkhead: shared });
      const [first, second] = await Promise.all([start(), start()]);
      try {
        for (const proxy of [first, second]) await look(proxy, "SELECT 1");
        let most = 0, over = false;
        const watch = (async () => {
          while (!over) most = Math.max(most, await sleeping());
        })();
        await Promise.all(
          Array.from({ length: 10 }, (_, i) => look(i % 2 === 0 ? first : second, "SELECT SLEEP(0.04)")),
        );
        over = true;
        await watch;
        expect([1, 2]).toContain(most);
        // Both permits go with a server that dies.
        const lost = [0, 1].map(() => look(first, forever).catch(() => "lost"));
        await waitFor(async () => await sleeping() === 2, { what: "both to run" });
        const next = look(second, "SELECT SLEEP(0)");
        await first.server.stop("SIGKILL");
        expect(await next).toBe("0");
        expect(await Promise.all(lost)).toEqual(["lost", "lost"]);
      } finally {
        await Promise.all([first.stop(), second.stop()]);
        await redis.stop();
      }
    });
  });

  suite(`what cannot be capped, on ${host}`, () => {
    const statements = [{ db: "shop", name: "a", max_concurrent: 1 }];
    const mysql = { url: "mysql://app@127.0.0.1:1/test", listen: "127.0.0.1:0" };
    const output = async (config: Readonly<Record<string, Readonly<Record<string, unknown>>>>) => {
      const exit = await runToExit({ host, config });
      return `${exit.code} ${exit.output}`;
    };

    test("stops the start, and says why", async () => {
      expect(await output({ bulkhead: { statements }, db: { mysql } })).toContain('expected db to be one of "mysql"');
      expect(await output({ bulkhead: { statements } })).toContain("there is none: add [db.mysql]");
    });
  });
}
