import { expect, test } from "bun:test";
import { Figures } from "../../plugins/bulkhead/figures.ts";
import type { InspectableStore } from "../../plugins/bulkhead/inspect.ts";
import { Limits } from "../../plugins/bulkhead/limits.ts";
import { testMemory, ticks } from "./memory.ts";

test("each bulkhead is counted once, also where the store tells later, and the keys of one together", async () => {
  const { store } = testMemory();
  const limits = new Limits([["a", { maxConcurrent: 5 }], ["idle", { maxConcurrent: 7 }]]);
  const ask = { limit: 5, weight: 2, leaseMs: 1000, maxWaitMs: 0 };
  for (const name of ["a", "k/1", "k/2"]) store.acquire({ ...ask, name });
  const idle = { limit: 7, active: 0, holders: 0, queued: 0, oldestWaitMs: 0 };
  const counts = (name: string) => name === "idle" ? idle : store.counts(name);
  const now: InspectableStore = {
    kind: "now",
    look: () => store.look(),
    counts,
    acquire: (ask) => store.acquire(ask),
    resize: () => {},
    close: () => {},
  };
  const later: InspectableStore = {
    ...now,
    look: () => Promise.resolve([...store.look()]),
    counts: (name) => Promise.resolve(counts(name)),
  };
  for (const kind of [now, later]) {
    const figures = new Figures(kind, limits, () => 1000);
    figures.read();
    await ticks();
    const read = Array.from(figures.read(), ([name, { active, holders, limit }]) => [name, active, holders, limit]);
    expect(read).toEqual([["a", 2, 1, 5], ["k", 4, 2, 5], ["idle", 0, 0, 7]]);
  }
});
