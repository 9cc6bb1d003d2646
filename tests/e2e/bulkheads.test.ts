/**
 * Routes with a cap, with PHP behind them, as users have them.
 *
 * @module
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { hosts, startServer, type TestServer } from "../support/server.ts";
import { allowSlowTests, waitFor } from "../support/wait.ts";

allowSlowTests(60_000);

for (const host of hosts().filter((name) => name === "bun" || name === "deno" || name === "binary")) {
  describe(`capped routes of ${host}`, () => {
    let server: TestServer;

    beforeAll(async () => {
      server = await startServer({
        host,
        config: {
          php: { concurrency: 2 },
          bulkhead: {
            routes: [
              { path: "/slow.php", name: "slow", max_concurrent: 1, max_wait: "20s" },
              { path: "/once.php", name: "once", max_concurrent: 1 },
              { path: "/dies.php", name: "dies", max_concurrent: 1, max_wait: "20s" },
            ],
          },
          log: { access: "off" },
        },
      });
      const file = (name: string, code: string) => writeFileSync(join(server.dir, "public", name), `<?php ${code}`);
      // It runs until it is told to end, so that nothing here depends on how fast the machine is.
      const until = (end: string) => `while (!file_exists(__DIR__ . '/../${end}')) { usleep(2000); clearstatcache(); }`;
      file("slow.php", `${until("end-slow")} echo 'slow';`);
      file("once.php", `${until("end-once")} echo 'once';`);
      file("fast.php", "echo 'fast';");
      file("dies.php", "if (isset($_GET['die'])) posix_kill(getmypid(), 9); echo 'lives';");
    });
    afterAll(async () => await server?.[Symbol.asyncDispose]());

    const look = async (name: string) => {
      const response = await fetch(`${server.adminUrl}/-/bulkheads?name=${name}`);
      return (await response.json() as { bulkheads: Record<string, unknown>[] }).bulkheads[0];
    };

    test("a second request is refused while the first runs, and PHP stays free for others", async () => {
      const first = fetch(`${server.url}/once.php`);
      const busy = await waitFor(async () => {
        const seen = await fetch(`${server.adminUrl}/-/bulkheads?name=once`);
        return seen.status === 200 ? (await seen.json() as { bulkheads: { held: { target: string }[] }[] }) : undefined;
      }, { what: "the first to hold the permit" });
      expect(busy.bulkheads[0]!.held.map(({ target }) => target)).toEqual(["/once.php"]);
      const refused = await fetch(`${server.url}/once.php`);
      expect([refused.status, Number(refused.headers.get("retry-after")) >= 1]).toEqual([503, true]);
      expect(await (await fetch(`${server.url}/fast.php`)).text()).toBe("fast");
      writeFileSync(join(server.dir, "end-once"), "");
      expect(await (await first).text()).toBe("once");
      await waitFor(async () => (await look("once"))?.["active"] === 0, { what: "the permit to come back" });
    });

    test("many wait in line, hold no PHP process meanwhile, and all are served", async () => {
      const all = Array.from({ length: 30 }, () => fetch(`${server.url}/slow.php`));
      await waitFor(async () => (await look("slow"))?.["queued"] === 29, { what: "29 to be in line" });
      const waiting = await server.metrics();
      expect(waiting.get('fairlead_admission_in_use{lane="php"}')).toBe(1);
      expect(waiting.get('fairlead_admission_queued{lane="php"}')).toBe(0);
      expect(await (await fetch(`${server.url}/fast.php`)).text()).toBe("fast");
      writeFileSync(join(server.dir, "end-slow"), "");
      const answers = await Promise.all(all);
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
      const metrics = await server.metrics();
      expect(metrics.get('fairlead_bulkhead_overtakes_total{bulkhead="slow"}') ?? 0).toBe(0);
      expect(await look("slow")).toMatchObject({ active: 0, queued: 0 });
    });

    test("a killed process gives its permit to the next", async () => {
      const [dead, next] = await Promise.all(["?die", ""].map((query) => fetch(`${server.url}/dies.php${query}`)));
      expect(dead!.status).toBeGreaterThanOrEqual(500);
      expect(await next!.text()).toBe("lives");
      await waitFor(async () => (await look("dies"))?.["active"] === 0, { what: "the permit to come back" });
    });
  });
}
