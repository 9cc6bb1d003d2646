import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { Executions, type RunningExecution } from "../../core/contracts/executions.ts";
import type { Permit } from "../../core/plugin.ts";
import { RequestOwners } from "../../plugins/bulkhead/request_owners.ts";
import type { TestExchange } from "../support/exchange.ts";
import { waitFor } from "../support/wait.ts";
import { Raw } from "./local/raw.ts";
import { ticks } from "./memory.ts";
import { exchange, start } from "./started.ts";

/** Executions that this process runs one after the other, each for a request. */
class OnlyUs {
  runs: TestExchange | undefined;
  #ended: (() => void) | undefined;

  byPid(pid: number): RunningExecution | undefined {
    if (pid !== process.pid || this.runs === undefined) return undefined;
    const { id, target, deadline } = this.runs;
    return { id, target, deadline, started: 0 };
  }

  whenEnded(pid: number, ended: () => void): (() => void) | undefined {
    if (pid !== process.pid || this.runs === undefined) return undefined;
    this.#ended = ended;
    return () => this.#ended = undefined;
  }

  /** The script is done; the next one is for `x`. */
  next(x: TestExchange | undefined): void {
    this.#ended?.();
    this.#ended = undefined;
    this.runs = x;
  }
}

describe("the permit of a route and those of the request's script", () => {
  async function served(use: (at: Awaited<ReturnType<typeof start>>, script: Raw, run: OnlyUs) => Promise<void>) {
    const dir = mkdtempSync(join(tmpdir(), "fairlead-bulkhead-"));
    const run = new OnlyUs();
    const at = await start({
      store: "local",
      socket: join(dir, "b.sock"),
      limits: { legacy: { max_concurrent: 1, max_wait: "1m" } },
      routes: [{ path: "/export/**", name: "export", max_concurrent: 1, max_wait: "1m" }],
    }, [[Executions, run]]);
    await at.hooks.onListen.handler();
    const script = new Raw(join(dir, "b.sock"), { scoped: true });
    try {
      await use(at, script, run);
    } finally {
      script.socket.destroy();
      await at.hooks.onClose.handler();
      rmSync(dir, { recursive: true, force: true });
    }
  }
  const wait = { limit: 1, maxWaitMs: 60_000, owner: 1 };

  test("have one owner: a circle between them is found by whoever closes it", async () => {
    await served(async ({ admit, bulkheads }, script, run) => {
      const x = exchange("/export/a");
      const route = admit(x) as Permit;
      run.runs = x;
      // Somebody else holds what the script wants, and wants the route.
      const other = { id: "other" };
      const legacy = await bulkheads.get("legacy").acquire({ owner: other });
      const forRoute = bulkheads.get("export", { maxConcurrent: 1, maxWait: 60_000 }).acquire({ owner: other });
      await ticks();
      script.acquire(1, { ...wait, name: "legacy" });
      await script.hears("deny 1 deadlock");
      route.release();
      await (await forRoute).release();
      await legacy.release();
    });
  });

  test("have one owner: the script that asks for its own route's last permit waits for itself", async () => {
    await served(async ({ admit, look }, script, run) => {
      const x = exchange("/export/a");
      const route = admit(x) as Permit;
      run.runs = x;
      script.acquire(1, { ...wait, name: "export" });
      await script.hears("deny 1 deadlock");
      script.acquire(2, { ...wait, name: "legacy" });
      await script.hears("grant 2");
      expect((await look("?name=legacy")).bulkheads[0]).toMatchObject({
        held: [{ request: x.id, target: "/export/a" }],
      });
      script.release(2);
      route.release();
      run.next(undefined);
    });
  });

  test("have none in common with another request, also of the same id", async () => {
    await served(async ({ admit, advance, look }, script, run) => {
      const headers = { "x-request-id": "same" };
      const x = exchange("/export/a", { headers });
      const route = admit(x) as Permit;
      // It runs another request, which the route does not hold.
      run.runs = exchange("/other", { headers });
      script.acquire(1, { ...wait, name: "export" });
      await advance(5);
      const shown = await waitFor(async () => {
        const [line] = (await look("?name=export")).bulkheads as { queued: number; waiting: unknown[] }[];
        return line!.queued === 1 ? line : undefined;
      }, { what: "the script in line", every: 1 });
      expect(shown.waiting).toMatchObject([{ target: "/other", pid: process.pid }]);
      expect(script.heard).toEqual([]);
      route.release();
      await script.hears("grant 1");
      script.release(1);
    });
  });
});

test("requests are told apart by more than their ids, and forgotten when they have ended", () => {
  const owners = new RequestOwners();
  const [a, b, c] = [
    { id: "i", target: "/a", deadline: 1 },
    { id: "i", target: "/b", deadline: 1 },
    { id: "i", target: "/a", deadline: 1 },
  ] as const;
  owners.add(a);
  owners.add(b);
  expect(owners.of({ ...a, started: 0 })).toBe(a);
  expect(owners.of({ ...b, started: 0 })).toBe(b);
  expect(owners.of({ ...a, deadline: 2, started: 0 })).toBe(undefined);
  owners.add(c);
  expect(owners.of({ ...a, started: 0 })).toBe(undefined);
  owners.delete(a);
  expect(owners.of({ ...a, started: 0 })).toBe(c);
  for (const x of [a, b, c]) owners.delete(x);
  expect(owners.size).toBe(0);
});
