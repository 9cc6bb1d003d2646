/**
 * Permits that scripts hold end with their requests, however those end, in every way that PHP is run.
 *
 * @module
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runtimes, startServer, type TestServer } from "../../support/server.ts";
import { allowSlowTests, pause, waitFor } from "../../support/wait.ts";

allowSlowTests(60_000);

const library = fileURLToPath(new URL("../../../php/src/autoload.php", import.meta.url));

/** What every request does: it takes the only permit and never gives it back. */
const work = `function work(string $how, string $name): string {
  static $kept = [];
  $bulkhead = new Fairlead\\Bulkhead\\Bulkhead($name, 1, maxWait: 5);
  $kept[] = $slot = $bulkhead->acquire();
  $told = json_encode(['position' => $slot->position(), 'active' => $bulkhead->activeCount(), 'lost' => $kept[0]->isLost()]);
  if ($how === 'exit') exit('exited');
  if ($how === 'kill') posix_kill(getmypid(), SIGKILL);
  if ($how === 'memory') str_repeat('x', 1 << 40);
  if ($how === 'throw') throw new Exception('thrown');
  if ($how === 'sleep') sleep(30);
  if ($how === 'wait') usleep(100000);
  if ($how === 'after' && function_exists('fastcgi_finish_request')) {
    echo $told;
    fastcgi_finish_request();
    usleep(300000);
    if ($slot->isLost()) error_log('lost behind the response');
    return '';
  }
  return $told;
}`;
const page = `<?php require ${JSON.stringify(library)}; ${work} echo work($_GET['how'] ?? '', 'fpm');`;
const worker = (name: string) =>
  `<?php require ${JSON.stringify(library)}; ${work}
$worker = Fairlead\\Worker::create();
while ($request = $worker->next()) {
  try {
    $worker->respond(200, [], work($request->query()['how'] ?? '', '${name}'));
    // Behind the response it is still the request's.
    if (($request->query()['how'] ?? '') === 'after') usleep(300000);
  } catch (Exception $e) {
    $worker->respond(500, [], $e->getMessage());
  }
}
`;

for (const host of runtimes()) {
  describe(`bulkheads of scripts on ${host}`, () => {
    let server: TestServer;
    const dir = mkdtempSync(join(tmpdir(), "fairlead-bulkheads-"));

    beforeAll(async () => {
      mkdirSync(join(dir, "public"));
      writeFileSync(join(dir, "public/index.php"), page);
      writeFileSync(join(dir, "worker.php"), worker("worker"));
      writeFileSync(join(dir, "fork.php"), worker("fork"));
      const pool = (name: string, more: object) => ({
        match: { path: [`/${name}/**`] },
        script: `${name}.php`,
        timeout: "2s",
        ...more,
      });
      server = await startServer({
        host,
        dir,
        config: {
          log: { access: "off" },
          bulkhead: { store: "local" },
          php: {
            concurrency: 2,
            timeout: "2s",
            pools: {
              worker: pool("worker", { concurrency: 2 }),
              fork: pool("fork", { concurrency: 2, isolation: "fork" }),
            },
          },
        },
      });
    });
    afterAll(async () => {
      await server?.[Symbol.asyncDispose]();
      rmSync(dir, { recursive: true, force: true });
    });

    const paths = { fpm: "/index.php", worker: "/worker/", fork: "/fork/" } as const;
    const ask = async (pool: keyof typeof paths, how = "") => {
      const response = await fetch(`${server.url}${paths[pool]}?how=${how}`);
      return { status: response.status, text: await response.text() };
    };
    const active = async (pool: string) =>
      (await server.metrics()).get(`fairlead_bulkhead_in_use{bulkhead="${pool}"}`) ?? 0;
    const alone = { status: 200, text: JSON.stringify({ position: 0, active: 1, lost: false }) };

    for (const pool of ["fpm", "worker", "fork"] as const) {
      test(`${pool}: a request that keeps its permit leaves none`, async () => {
        // Each process more than once; in a worker that lives on, what the first request got is lost by the second.
        const answers = [];
        for (let i = 0; i < 6; i++) answers.push(await ask(pool));
        expect(answers[0]).toEqual(alone);
        for (const { status, text } of answers) expect([status, JSON.parse(text).active]).toEqual([200, 1]);
        if (pool === "worker") expect(answers.some(({ text }) => JSON.parse(text).lost)).toBe(true);
        await waitFor(async () => await active(pool) === 0, { what: "no permit to be out", timeout: 3000 });
      });

      for (const how of ["exit", "kill", "memory", "throw"]) {
        test(`${pool}: a request that ends with ${how} leaves none`, async () => {
          await ask(pool, how);
          await waitFor(async () => await active(pool) === 0, { what: "no permit to be out", timeout: 3000 });
          const next = await ask(pool);
          expect([next.status, JSON.parse(next.text).active]).toEqual([200, 1]);
        });
      }

      test(`${pool}: a request that takes too long leaves none, and whoever waits has it then`, async () => {
        const [slow, next] = await Promise.all([
          ask(pool, "sleep"),
          // Later, for it has its own time limit.
          waitFor(async () => await active(pool) === 1, { what: "it to be held" }).then(() => pause(1000)).then(() =>
            ask(pool)
          ),
        ]);
        expect([slow.status, next.status]).toEqual([504, 200]);
      });

      test(`${pool}: two at a time stand in line`, async () => {
        const [one, two] = await Promise.all([ask(pool, "wait"), ask(pool, "wait")]);
        expect([one.status, two.status]).toEqual([200, 200]);
        expect([one, two].map(({ text }) => JSON.parse(text).active)).toEqual([1, 1]);
      });

      test(`${pool}: what goes on behind the response keeps its permit, to its end`, async () => {
        const first = await ask(pool, "after");
        expect(first.status).toBe(200);
        expect(await active(pool)).toBe(1);
        const began = performance.now();
        expect((await ask(pool)).status).toBe(200);
        // It had to wait for the rest of the first one's 300 ms.
        expect(performance.now() - began).toBeGreaterThan(100);
        expect(server.output()).not.toContain("lost behind the response");
      });
    }
  });
}
