import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FairGate } from "../../../plugins/admission/fair_gate.ts";
import { NamedGates } from "../../../plugins/admission/gates.ts";
import { Limits } from "../../../plugins/bulkhead/limits.ts";
import { LocalServer } from "../../../plugins/bulkhead/local/local_server.ts";
import { LocalStore } from "../../../plugins/bulkhead/local/local_store.ts";
import { MemoryStore } from "../../../plugins/bulkhead/memory_store.ts";
import { pause } from "../../support/wait.ts";
import { conformance } from "../conformance.ts";

conformance(
  "local",
  async ({ limits = {} }) => {
    const dir = mkdtempSync(join(tmpdir(), "fairlead-bulkhead-"));
    const path = join(dir, "b.sock");
    const configured = Object.entries(limits).map(([name, maxConcurrent]) => [name, { maxConcurrent }] as const);
    const lost: string[] = [], overtaken: string[] = [];
    const kept = new MemoryStore({
      gates: new NamedGates((name, limit, { maxQueue = Infinity, grace = Infinity }) =>
        new FairGate({ name, limit, maxQueue, grace })
      ),
      limits: new Limits(configured),
      events: { lost: (name) => lost.push(name), overtaken: (name) => overtaken.push(name) },
    });
    const server = await LocalServer.listen({ path, store: kept });
    const [store, other] = [new LocalStore({ path }), new LocalStore({ path })];
    return {
      store,
      other,
      advance: (ms) => pause(ms),
      lost,
      overtaken,
      close: async () => {
        store.close();
        other.close();
        server.close();
        kept.close();
        rmSync(dir, { recursive: true, force: true });
      },
    };
  },
  { vanishMs: 0, deadlocks: true, slackMs: 100 },
);

test("a listener that throws keeps no loss from the others, and no answer from who waits", async () => {
  const dir = mkdtempSync(join(tmpdir(), "fairlead-bulkhead-"));
  const path = join(dir, "b.sock");
  const kept = new MemoryStore({
    gates: new NamedGates((name, limit) => new FairGate({ name, limit })),
    limits: new Limits([["b", { maxConcurrent: 2 }]]),
  });
  const server = await LocalServer.listen({ path, store: kept });
  const thrown: unknown[] = [], told: string[] = [];
  const store = new LocalStore({ path, onError: (error) => thrown.push(error) });
  try {
    const ask = { name: "b", limit: 2, weight: 1, leaseMs: 30_000, maxWaitMs: 30_000 };
    const [first, second] = [await store.acquire(ask), await store.acquire(ask)];
    if (!first.granted || !second.granted) throw new Error("Expected two permits");
    first.onLost(() => {
      throw new Error("mine");
    });
    first.onLost(() => told.push("first"));
    second.onLost(() => told.push("second"));
    const third = store.acquire(ask);
    await store.counts("b");
    server.close();
    expect(await third).toMatchObject({ granted: false, reason: "unavailable" });
    expect(told).toEqual(["first", "second"]);
    expect(thrown).toEqual([new Error("mine")]);
  } finally {
    store.close();
    server.close();
    kept.close();
    rmSync(dir, { recursive: true, force: true });
  }
});
