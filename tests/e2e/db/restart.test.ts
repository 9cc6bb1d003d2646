/** Database sessions when one server replaces another. */
import { expect, test } from "bun:test";
import { lstatSync } from "node:fs";
import { join } from "node:path";
import { hasMariaDb, startMariaDb } from "../../support/mariadb.ts";
import { freePort } from "../../support/ports.ts";
import { RawClient } from "../../support/raw_client.ts";
import { ask, ReplacedSite } from "../../support/replaced_site.ts";
import { hosts } from "../../support/server.ts";
import { allowSlowTests, pause } from "../../support/wait.ts";

allowSlowTests(180_000);

/** Sessions that the proxy of the server that serves now has. */
async function clients(site: ReplacedSite): Promise<number> {
  const { text } = await ask(`${site.adminUrl}/-/db/pool`);
  const { idle, active, waiting } = JSON.parse(/"clients": *(\{[^}]*\})/.exec(text)![1]!) as Record<string, number>;
  return idle! + active! + waiting!;
}

for (const host of hosts().filter((name) => name in { bun: 1, deno: 1, binary: 1 })) {
  (hasMariaDb() ? test : test.skip)(
    `a session that is open goes on when another server takes over on ${host}`,
    async () => {
      const database = await startMariaDb({
        init: ["CREATE TABLE test.t (a INT) ENGINE=InnoDB"],
      });
      try {
        const port = await freePort();
        const config = (pool: number) => ({
          server: { drain: "60s" },
          php: { concurrency: 1 },
          db: {
            mysql: {
              url: `mysql://${database.user}:${database.password}@${database.host}:${database.port}/test`,
              listen: `127.0.0.1:${port}`,
              socket: "mysql.sock",
              max_connections: pool,
              auth: "trust",
            },
          },
        });
        await using site = await ReplacedSite.start({ host, config: config(5) });
        const socket = join(site.dir, "mysql.sock");
        const place = { ...database, host: "127.0.0.1", port, socket };
        const open = [
          await RawClient.login(place, { database: "test" }),
          await RawClient.login(place, { database: "test", viaSocket: true }),
        ];
        for (const client of open) await client.run("BEGIN", "INSERT INTO t VALUES (1)");
        site.configure(config(6));
        await site.replace();
        // Those who come now come to the new one, by either address.
        expect(await clients(site)).toBe(0);
        const fresh = [await RawClient.login(place, { database: "test" })];
        fresh.push(await RawClient.login(place, { database: "test", viaSocket: true }));
        for (const client of fresh) await client.run("INSERT INTO t VALUES (2)");
        expect(await clients(site)).toBe(2);
        // Longer than the old one listens.
        await pause(6000);
        for (const client of open) await client.run("COMMIT");
        await Promise.all(open.map((client) => client.quit()));
        expect(await site.exited).toBe(0);
        expect(await database.admin("SELECT a, COUNT(*) FROM test.t GROUP BY a ORDER BY a")).toEqual([["1", "2"], [
          "2",
          "2",
        ]]);
        for (const client of fresh) await client.run("INSERT INTO t VALUES (3)");
        expect(lstatSync(socket).mode & 0o777).toBe(0o660);
        await Promise.all(fresh.map((client) => client.quit()));
      } finally {
        await database.stop();
      }
    },
  );
}
