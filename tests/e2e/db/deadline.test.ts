/**
 * A script waits for a connection to the database no longer than its own request may take.
 *
 * @module
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hasMariaDb, type MariaDb, startMariaDb } from "../../support/mariadb.ts";
import { hosts, startServer, type TestServer } from "../../support/server.ts";
import { allowSlowTests, waitFor } from "../../support/wait.ts";

allowSlowTests(60_000);

const page = `<?php
mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
$db = mysqli_init();
$db->real_connect('localhost', 'app', '', 'test');
echo $db->query("SELECT SLEEP({$_GET['sleep']})")->fetch_row()[0];
`;

const suite = hasMariaDb() ? describe : describe.skip;

for (const host of hosts()) {
  suite(`a request's deadline at the database, on ${host}`, () => {
    let dir: string, database: MariaDb, server: TestServer;

    beforeAll(async () => {
      dir = mkdtempSync(join(tmpdir(), "fairlead-deadline-"));
      mkdirSync(join(dir, "public"));
      chmodSync(dir, 0o755);
      writeFileSync(join(dir, "public/index.php"), page);
      database = await startMariaDb();
      const { user, password, port } = database;
      server = await startServer({
        host,
        dir,
        config: {
          server: { timeout: "20s", trusted_proxies: ["127.0.0.1"] },
          log: { access: "off" },
          php: { concurrency: 2 },
          db: {
            mysql: {
              url: `mysql://${user}:${password}@127.0.0.1:${port}/test`,
              socket: join(dir, "mysql.sock"),
              min_connections: 0,
              max_connections: 1,
              pool_timeout: "10s",
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

    test("ends its wait, and nobody else's", async () => {
      const visit = async (sleep: number, headers: Record<string, string> = {}) =>
        await fetch(`${server.url}/index.php?sleep=${sleep}`, { headers });
      const first = visit(2);
      const value = async (name: string) => (await server.metrics()).get(name);
      await waitFor(async () => await value('fairlead_admission_in_use{lane="db:mysql"}') === 1, {
        what: "the first to have the connection",
      });
      const started = performance.now();
      const second = await visit(0, { "x-request-deadline": "700ms" });
      // PHP is told before it is ended, and may or may not have answered by then.
      expect([500, 504]).toContain(second.status);
      expect(performance.now() - started).toBeLessThan(1500);
      await waitFor(async () => await value('fairlead_admission_queued{lane="db:mysql"}') === 0, {
        what: "the end of its wait at the database",
      });
      expect(await value('fairlead_admission_in_use{lane="db:mysql"}')).toBe(1);
      if (second.status === 500) expect(await value('fairlead_db_refused_total{db="mysql",reason="timeout"}')).toBe(1);
      expect([(await first).status, (await visit(0)).status]).toEqual([200, 200]);
    });
  });
}
