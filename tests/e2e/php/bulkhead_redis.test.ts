/**
 * One bulkhead of two servers and their scripts, kept in Redis: the cap holds across both, and what a killed server held comes back.
 *
 * @module
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { RedisServer } from "../../bulkhead/redis/server.ts";
import { hosts, startServer, type TestServer } from "../../support/server.ts";
import { allowSlowTests, waitFor } from "../../support/wait.ts";

allowSlowTests(60_000);

const library = fileURLToPath(new URL("../../../php/src/autoload.php", import.meta.url));
const page = `<?php require ${JSON.stringify(library)};
$bulkhead = new Fairlead\\Bulkhead\\Bulkhead('api', 2, lease: 2, maxWait: 5);
$slot = $bulkhead->acquire();
// How many are at it, counted by the file system: no bulkhead is asked.
$mine = tempnam(__DIR__ . '/../at', 'x');
$at = count(glob(__DIR__ . '/../at/x*'));
usleep(1000 * (int) ($_GET['ms'] ?? 20));
unlink($mine);
echo json_encode(['at' => $at, 'fence' => $slot->fence()]);
`;

for (const host of hosts()) {
  describe(`bulkheads of two servers on ${host}`, () => {
    let redis: RedisServer;
    const servers: TestServer[] = [];
    const dir = mkdtempSync(join(tmpdir(), "fairlead-bulkheads-"));
    const start = async () => {
      const server = await startServer({
        host,
        dir,
        config: {
          log: { access: "off" },
          bulkhead: { store: "redis", redis: { url: redis.url }, limits: { api: { max_concurrent: 2 } } },
          php: { concurrency: 6 },
        },
      });
      servers.push(server);
      return server;
    };
    const ask = async (server: TestServer, ms = 20) => {
      const response = await fetch(`${server.url}/index.php?ms=${ms}`);
      const text = await response.text();
      if (response.status !== 200) throw new Error(`${response.status} ${text}`);
      return JSON.parse(text) as { readonly at: number; readonly fence: number };
    };

    beforeAll(async () => {
      redis = await RedisServer.start();
      mkdirSync(join(dir, "public"));
      chmodSync(dir, 0o755);
      mkdirSync(join(dir, "at"));
      chmodSync(join(dir, "at"), 0o777);
      writeFileSync(join(dir, "public/index.php"), page);
    });
    afterAll(async () => {
      await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
      await redis?.stop();
      rmSync(dir, { recursive: true, force: true });
    });

    test("no more than the cap are at it, on both together, and each is served", async () => {
      const [one, two] = [await start(), await start()];
      const answers = await Promise.all(Array.from({ length: 24 }, (_, i) => ask(i % 2 === 0 ? one : two)));
      expect(answers.length).toBe(24);
      expect(Math.max(...answers.map(({ at }) => at))).toBeLessThanOrEqual(2);
      // Every grant has a token of its own.
      expect(new Set(answers.map(({ fence }) => fence)).size).toBe(24);
    });

    test("what a killed server held is another's within the lease", async () => {
      const [doomed, two] = [servers[0]!, servers[1]!];
      const held = [ask(doomed, 20_000), ask(doomed, 20_000)].map((answer) => answer.catch(() => undefined));
      await waitFor(async () => (await two.metrics()).get('fairlead_bulkhead_in_use{bulkhead="api"}') === 2, {
        what: "both permits to be out",
      });
      process.kill(doomed.pid, "SIGKILL");
      const started = performance.now();
      const answer = await ask(two);
      expect(performance.now() - started).toBeLessThan(5000);
      expect(answer.fence).toBeGreaterThan(0);
      await Promise.all(held);
    });
  });
}
