/**
 * A slow statement's line in the log, and its digest, name the HTTP request that asked for it.
 *
 * @module
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { look } from "../../support/db_sessions.ts";
import { hasMariaDb, type MariaDb, startMariaDb } from "../../support/mariadb.ts";
import { freePort } from "../../support/ports.ts";
import { hosts, startServer, type TestServer } from "../../support/server.ts";
import { allowSlowTests, waitFor } from "../../support/wait.ts";

allowSlowTests(60_000);

/** Sleeps in the database under a column's name that tells the statement apart in the log. */
const page = `<?php
mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
$db = mysqli_init();
[$host, $port] = $_GET['over'] === 'tcp' ? ['127.0.0.1', (int) $_GET['port']] : ['localhost', 0];
$db->real_connect($host, 'app', '', 'test', $port, null, isset($_GET['compressed']) ? MYSQLI_CLIENT_COMPRESS : 0);
echo $db->query("SELECT SLEEP({$_GET['sleep']}) AS {$_GET['mark']}")->fetch_row()[0];
`;

interface Line {
  readonly message: string;
  readonly id: string | undefined;
}

const suite = hasMariaDb() ? describe : describe.skip;

for (const host of hosts()) {
  suite(`who asked for a slow statement, on ${host}`, () => {
    let dir: string, port: number, database: MariaDb, server: TestServer;

    beforeAll(async () => {
      dir = mkdtempSync(join(tmpdir(), "fairlead-who-"));
      mkdirSync(join(dir, "public"));
      chmodSync(dir, 0o755);
      writeFileSync(join(dir, "public/index.php"), page);
      [port, database] = await Promise.all([freePort(), startMariaDb()]);
      const { user, password } = database;
      server = await startServer({
        host,
        dir,
        config: {
          server: { timeout: "2s" },
          log: { access: "off", format: "json" },
          php: { concurrency: 4 },
          db: {
            mysql: {
              url: `mysql://${user}:${password}@127.0.0.1:${database.port}/test`,
              listen: `127.0.0.1:${port}`,
              socket: join(dir, "mysql.sock"),
              slow_query: "100ms",
            },
          },
        },
      });
    });

    afterAll(async () => {
      await server?.[Symbol.asyncDispose]();
      await database?.stop();
      rmSync(dir, { recursive: true, force: true });
    });

    const visit = (id: string, query: string, signal?: AbortSignal) =>
      fetch(`${server.url}/index.php?port=${port}&${query}`, {
        headers: { "x-request-id": id },
        signal: signal ?? null,
      });

    /** The line of the statement with this mark. */
    const lineOf = (mark: string): Promise<Line> =>
      waitFor(() => {
        const line = server.output().split("\n").find((text) =>
          text.includes("slow query") && text.includes(mark.toLowerCase())
        );
        return line === undefined ? undefined : JSON.parse(line) as Line;
      }, { what: `the log to tell of ${mark}` });

    const slowest = async (mark: string): Promise<string | undefined> => {
      const all = await (await fetch(`${server.adminUrl}/-/db/queries?limit=100`)).json() as unknown;
      return new RegExp(`"text":"[^"]*${mark}[^}]*"slowest_request":"([^"]*)"`, "i").exec(JSON.stringify(all))?.[1];
    };

    for (const [way, query] of [["socket", "over=socket"], ["tcp", "over=tcp"], ["tcp", "over=tcp&compressed"]]) {
      test(`${query}, several at once`, async () => {
        const marks = [1, 2, 3].map((number) =>
          `${way}_${query!.includes("compressed") ? "small" : "plain"}_${number}`
        );
        await Promise.all(marks.map(async (mark) => {
          const answer = await visit(`the-${mark}`, `${query}&sleep=0.3&mark=${mark}`);
          expect([answer.status, await answer.text()]).toEqual([200, "0"]);
        }));
        for (const mark of marks) {
          expect((await lineOf(mark)).id).toBe(`the-${mark}`);
          expect(await slowest(mark)).toBe(`the-${mark}`);
        }
      });
    }

    test("whose request has timed out", async () => {
      expect((await visit("too-late", "over=socket&sleep=30&mark=late")).status).toBe(504);
      expect((await lineOf("late")).id).toBe("too-late");
    });

    test("whose client has left", async () => {
      const left = new AbortController();
      const visited = visit("gone", "over=socket&sleep=0.7&mark=gone_by_then", left.signal).catch(() => {});
      await waitFor(
        async () =>
          (await database.admin("SELECT 1 FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP(0.7)%'"))
            .length > 0,
        { what: "the statement to run" },
      );
      left.abort();
      await visited;
      expect((await lineOf("gone_by_then")).id).toBe("gone");
    });

    test("nobody's, where no request asked", async () => {
      const { user } = database;
      const busy = visit("somebody-else", "over=tcp&sleep=0.5&mark=of_a_page");
      await look({ host: "127.0.0.1", port, socket: "", user, password: "" }, "SELECT SLEEP(0.3) AS of_nobody");
      const line = await lineOf("of_nobody");
      expect(line.id).toBeUndefined();
      await (await busy).text();
      expect((await lineOf("of_a_page")).id).toBe("somebody-else");
    });
  });
}
