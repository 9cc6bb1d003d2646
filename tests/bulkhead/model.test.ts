import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { CoreError } from "../../core/error.ts";
import type { BulkheadGrant } from "../../plugins/bulkhead/store.ts";
import { testMemory, ticks } from "./memory.ts";
import { type NaiveAsk, NaiveStore } from "./naive_store.ts";

type Op =
  | { readonly op: "acquire"; readonly ask: Omit<NaiveAsk, "id" | "limit"> }
  | { readonly op: "release" | "abort" | "tick"; readonly n: number }
  | { readonly op: "gone"; readonly owner: string }
  | { readonly op: "heard"; readonly owner: string }
  | { readonly op: "resize"; readonly name: string; readonly limit: number };

/** The first two can vanish. Leases end at moments of their own, so that nothing else happens in the same one. */
const owners = ["a", "b", "c", "d"], mortal = new Set(["a", "b"]), names = ["x", "y", "z"];
const name = fc.constantFrom(...names);
const owner = fc.constantFrom(...owners);

const op: fc.Arbitrary<Op> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      op: fc.constant("acquire" as const),
      ask: fc.record({
        name,
        weight: fc.integer({ min: 1, max: 3 }),
        patience: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 60 })),
        lease: fc.constantFrom(7.31, 19.17),
        maxQueue: fc.constantFrom(0, 2, 100, 100, 100),
        owner: fc.oneof(owner, fc.constant(undefined)),
      }),
    }),
  },
  { weight: 5, arbitrary: fc.record({ op: fc.constantFrom("release" as const, "abort" as const), n: fc.nat(30) }) },
  { weight: 3, arbitrary: fc.record({ op: fc.constant("tick" as const), n: fc.integer({ min: 1, max: 15 }) }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant("gone" as const), owner }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant("heard" as const), owner }) },
  {
    weight: 1,
    arbitrary: fc.record({ op: fc.constant("resize" as const), name, limit: fc.integer({ min: 1, max: 4 }) }),
  },
);

/** Plays a script on the store and on the model; what each says after every step must be the same. */
async function play(script: readonly Op[]): Promise<string[]> {
  const objects = new Map(owners.map((id) => [id, { id }]));
  const memory = testMemory({ canVanish: (who) => mortal.has((who as { id: string }).id), maxIdle: 3 });
  const { store } = memory;
  const model = new NaiveStore(mortal);
  const held = new Map<number, BulkheadGrant>();
  const aborters = new Map<number, AbortController>();
  const all: string[] = [];
  let said: string[] = [];

  async function acquire(ask: NaiveAsk): Promise<void> {
    const { id, patience, lease, owner, ...rest } = ask;
    const aborter = new AbortController();
    aborters.set(id, aborter);
    const who = owner === undefined ? undefined : { owner: objects.get(owner)! };
    const answer = await store.acquire({
      ...rest,
      leaseMs: lease,
      maxWaitMs: patience,
      signal: aborter.signal,
      ...who,
    });
    const after = answer.waitedMs.toFixed(3);
    if (!answer.granted) return void said.push(`denied ${id} ${answer.reason} after ${after}`);
    said.push(`granted ${id} fence ${answer.fence} after ${after} at ${answer.position}`);
    if (answer.lost) said.push(`lost ${id}`);
    else answer.onLost(() => said.push(`lost ${id}`));
    held.set(id, answer);
  }

  for (const [id, step] of script.entries()) {
    if (step.op === "acquire") {
      const ask = { id, limit: 4, ...step.ask };
      acquire(ask).catch((error) => {
        if (!(error instanceof CoreError) || error.code !== "BULKHEAD_WEIGHT") throw error;
        said.push(`error ${id}`);
      });
      model.acquire(ask);
    } else if (step.op === "release") {
      const which = [...held.keys()][step.n % Math.max(held.size, 1)];
      if (which === undefined) continue;
      void held.get(which)!.release();
      // The second release, and one after a loss, must do nothing.
      if (step.n % 2 === 0) held.delete(which);
      model.release(which);
    } else if (step.op === "abort") {
      const which = [...aborters.keys()][step.n % Math.max(aborters.size, 1)];
      if (which === undefined) continue;
      aborters.get(which)!.abort();
      model.abort(which);
    } else if (step.op === "gone" || step.op === "heard") {
      store[step.op](objects.get(step.owner)!);
      model[step.op](step.owner);
    } else if (step.op === "resize") {
      store.resize(step.name, step.limit);
      model.resize(step.name, step.limit);
    } else {
      await memory.advance(step.n);
      model.tick(step.n);
    }
    await ticks();
    expect([id, step.op, said.sort()]).toEqual([id, step.op, model.log.sort()]);
    all.push(...said);
    said = [];
    model.log = [];
    for (const one of names) {
      const { oldestWaitMs: _, ...counts } = store.counts(one) ?? { oldestWaitMs: 0 };
      if (model.counts(one) !== undefined) expect(counts).toEqual(model.counts(one) as typeof counts);
      const recount = [...store.look()].find((view) => view.name === one);
      if (recount === undefined) continue;
      expect([...recount.held].reduce((sum, { weight }) => sum + weight, 0)).toBe(recount.active);
      expect([...recount.line].length).toBe(recount.queued);
    }
  }
  expect(memory.overtaken).toEqual([]);
  expect(memory.lost.length).toBe(all.filter((line) => line.startsWith("lost")).length);

  // Everybody leaves: nothing is out, nobody waits, no timer is set.
  for (const aborter of aborters.values()) aborter.abort();
  for (const one of objects.values()) store.gone(one);
  await ticks();
  for (const grant of held.values()) void grant.release();
  await ticks();
  expect([...store.look()].flatMap(({ held, line }) => [...held, ...line])).toEqual([]);
  await memory.advance(1000);
  expect([store.owners, memory.clock.live]).toEqual([0, 0]);
  return all;
}

describe("a memory store against its model", () => {
  test("says the same at every step of any script: weights, cancels, expiries, crashes, circles", async () => {
    let circles = 0, losses = 0, heavy = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(op, { minLength: 10, maxLength: 60, size: "max" }), async (script) => {
        const said = await play(script);
        circles += said.filter((line) => line.includes("deadlock")).length;
        losses += said.filter((line) => line.startsWith("lost")).length;
        heavy += said.filter((line) => line.startsWith("granted") && !line.includes("after 0.000")).length;
      }),
      { numRuns: 200 },
    );
    // A suite that never comes to these says nothing of them.
    expect(Math.min(circles, losses, heavy)).toBeGreaterThan(0);
  });
});
