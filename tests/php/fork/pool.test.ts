import { describe, expect, test } from "bun:test";
import process from "node:process";
import type { Exchange } from "../../../core/exchange.ts";
import type { WorkerRequest } from "../../../plugins/php/worker/handle.ts";
import { WorkerPool } from "../../../plugins/php/worker/pool.ts";
import type { WorkerReport } from "../../../plugins/php/worker/report.ts";
import { waitFor, within } from "../../support/wait.ts";
import { type Farm, gone, openFarm } from "./support/farm.ts";

function ask(pool: WorkerPool, target: string): Promise<string> {
  const x = { target, deadline: performance.now() + 20_000 } as Exchange;
  const request = { x, body: undefined, script: { documentUri: target } } as unknown as WorkerRequest;
  return within(
    30_000,
    target,
    new Promise((done, fail) => {
      let text = "";
      pool.wait({
        onRefuse: fail,
        onLease(lease) {
          lease.send(request, {
            onHead() {},
            onBody() {},
            onInformational() {},
            onStderr() {},
            onStdout: (bytes) => text += new TextDecoder().decode(bytes),
            onEnd: () => lease.done(() => done(text.split("\r\n\r\n")[1] ?? "")),
            onFail: (error) => lease.done(() => fail(error)),
          });
        },
      });
    }),
  );
}

async function withPool(work: (pool: WorkerPool, farm: Farm, crashes: WorkerReport[]) => Promise<void>): Promise<void> {
  const farm = await openFarm({ spares: 1 });
  const crashes: WorkerReport[] = [];
  const pool = new WorkerPool({
    launch: farm.forks.launch,
    size: 2,
    spares: 1,
    maxRequests: 1,
    onCrash: (report) => crashes.push(report),
  });
  pool.start();
  try {
    await work(pool, farm, crashes);
  } finally {
    await within(10_000, "the end of the pool", pool.close(true));
    await farm.close();
  }
}

/** Two lanes, as a gate with two permits makes them. */
async function lanes(pool: WorkerPool, count: number): Promise<string[]> {
  const answers: string[] = [];
  await Promise.all([1, 2].map(async () => {
    while (answers.length < count) answers.push(await ask(pool, "/"));
  }));
  return answers;
}

describe("a pool of forked workers", () => {
  test("answers each request from another process, and calls none a crash", () =>
    withPool(async (pool, farm, crashes) => {
      const answers = await lanes(pool, 60);
      expect(new Set(answers).size).toBe(answers.length);
      expect(crashes).toEqual([]);
      expect(pool.bootFailures).toBe(0);
      expect(pool.restarts.died ?? 0).toBe(0);
      // As many as are kept ready: the pool's two and its spare, and the nursery's one.
      await waitFor(() => farm.forks.ready === 1 && farm.children().length === 4, { what: "four children" });
    }));

  test("loses no request when the parent is killed", () =>
    withPool(async (pool, farm) => {
      await ask(pool, "/");
      const first = farm.forks.pid;
      const answers = lanes(pool, 40);
      process.kill(first, "SIGKILL");
      expect(new Set(await answers).size).toBeGreaterThanOrEqual(40);
      await gone(first);
      expect(farm.forks.pid).not.toBe(first);
      expect(farm.problems.map((error) => error.code)).toEqual(["PHP_FORK_PARENT"]);
    }));

  test("is reloaded with another boot, and loses no request", () =>
    withPool(async (pool, farm) => {
      await ask(pool, "/");
      const next = await openFarm({ spares: 1 });
      try {
        const answers = lanes(pool, 40);
        await within(20_000, "the reload", pool.reload(next.forks.launch));
        await answers;
        expect(JSON.parse(await ask(pool, "/state")).booted).toBe(next.forks.pid);
        const old = farm.forks.pid;
        await within(10_000, "the end of the old parent", farm.forks.close());
        await gone(old);
        await lanes(pool, 10);
        expect([...farm.problems, ...next.problems]).toEqual([]);
      } finally {
        await pool.close(true);
        await next.close();
      }
    }));
});
