import { describe, expect, test } from "bun:test";
import type { BulkheadOptions, BulkheadPermit } from "../../core/contracts/bulkheads.ts";
import { Bulkhead } from "../../plugins/bulkhead/bulkhead.ts";
import { BulkheadDenied } from "../../plugins/bulkhead/errors.ts";
import { KeyedBulkhead } from "../../plugins/bulkhead/keyed_bulkhead.ts";
import { Limits } from "../../plugins/bulkhead/limits.ts";
import { baseName, checkBaseName, checkName, keyedName } from "../../plugins/bulkhead/name.ts";
import { BulkheadRegistry } from "../../plugins/bulkhead/registry.ts";
import { testMemory, ticks } from "./memory.ts";

function setUp(options: BulkheadOptions = {}, canVanish = false) {
  const memory = testMemory(canVanish ? { canVanish: () => true } : {});
  const make = (changes: BulkheadOptions = {}) =>
    new Bulkhead({ name: "b", maxConcurrent: 2, ...options, ...changes, store: memory.store });
  return { ...memory, make, bulkhead: make() };
}

/** The error that `promise` rejects with. */
async function rejection(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("Expected a rejection, got none");
}

describe("Bulkhead", () => {
  test("runs calls within the cap and gives back what they held, however they end", async () => {
    const { bulkhead } = setUp();
    expect(await bulkhead.call(() => 7)).toBe(7);
    expect(await bulkhead.call(async ({ weight }) => weight, { weight: 2 })).toBe(2);
    const failure = new Error("work failed");
    expect(await rejection(bulkhead.call(() => Promise.reject(failure)))).toBe(failure);
    expect(
      await rejection(bulkhead.call(() => {
        throw failure;
      })),
    ).toBe(failure);
    expect([await bulkhead.activeCount(), await bulkhead.availableSlots()]).toEqual([0, 2]);
  });

  test("is full at once without a wait, and says so with its code, reason and time", async () => {
    const { bulkhead } = setUp();
    const held = await bulkhead.acquire({ weight: 2 });
    const error = await rejection(bulkhead.call(() => "never"));
    expect(error).toBeInstanceOf(BulkheadDenied);
    expect(error).toMatchObject({ code: "BULKHEAD_FULL", status: 503, reason: "full", waitedMs: 0, bulkhead: "b" });
    expect((error as BulkheadDenied).retryAfterMs).toBeGreaterThan(0);
    expect(await bulkhead.tryAcquire()).toBe(undefined);
    expect([await bulkhead.activeCount(), await bulkhead.availableSlots()]).toEqual([2, 0]);
    await held.release();
    expect((await bulkhead.tryAcquire())?.weight).toBe(1);
  });

  test("waits for as long as it is told, and as one call says for itself", async () => {
    const { bulkhead, advance } = setUp({ maxWait: 200, maxQueue: 1 });
    await bulkhead.acquire({ weight: 2 });
    const late = rejection(bulkhead.acquire());
    await ticks();
    expect(await rejection(bulkhead.acquire())).toMatchObject({ code: "BULKHEAD_QUEUE_FULL" });
    await advance(199);
    expect((await bulkhead.counts()).queued).toBe(1);
    await advance(1);
    expect(await late).toMatchObject({ code: "BULKHEAD_TIMEOUT", waitedMs: 200 });
    const soon = rejection(bulkhead.acquire({ maxWait: 5 }));
    await advance(5);
    expect(await soon).toMatchObject({ code: "BULKHEAD_TIMEOUT", waitedMs: 5 });
  });

  test("tells of every ask how it ended", async () => {
    const told: unknown[] = [];
    const { bulkhead, advance } = setUp({
      maxWait: 50,
      onAccepted: (name, waitedMs, { position, weight }) => told.push(["accepted", name, waitedMs, position, weight]),
      onRejected: (name, waitedMs, reason) => told.push(["rejected", name, waitedMs, reason]),
    });
    const held = await bulkhead.acquire({ weight: 2 });
    const waits = bulkhead.acquire();
    const leaves = new AbortController();
    const left = rejection(bulkhead.acquire({ signal: leaves.signal }));
    await ticks();
    await advance(10);
    leaves.abort(new Error("gone"));
    expect(await left).toMatchObject({ code: "BULKHEAD_CANCELLED", status: 499, cause: new Error("gone") });
    await held.release();
    await waits;
    await bulkhead.acquire();
    await bulkhead.tryAcquire();
    expect(told).toEqual([
      ["accepted", "b", 0, 0, 2],
      ["rejected", "b", 10, "cancelled"],
      ["accepted", "b", 10, 0, 1],
      ["accepted", "b", 0, 0, 1],
      ["rejected", "b", 0, "full"],
    ]);
  });

  test("leaks nothing when a callback throws", async () => {
    const failure = new Error("metrics are down");
    const fail = () => {
      throw failure;
    };
    const { make } = setUp();
    expect(await rejection(make({ onAccepted: fail }).acquire())).toBe(failure);
    expect(await rejection(make({ onAccepted: fail }).call(() => "never"))).toBe(failure);
    expect(await make().activeCount()).toBe(0);
    const held = await make().acquire({ weight: 2 });
    expect(await rejection(make({ onRejected: fail }).acquire())).toBe(failure);
    await held.release();
    expect(await make().counts()).toMatchObject({ active: 0, queued: 0 });
  });

  test("gives no permit to who left while the answer was on its way", async () => {
    const { bulkhead, make } = setUp({ maxWait: 100 });
    const held = await bulkhead.acquire({ weight: 2 });
    const leaves = new AbortController();
    const left = rejection(make().acquire({ signal: leaves.signal }));
    await ticks();
    void held.release();
    leaves.abort();
    expect(await left).toMatchObject({ code: "BULKHEAD_CANCELLED" });
    expect(await bulkhead.activeCount()).toBe(0);
  });

  test("has permits that `using` and `await using` give back, once", async () => {
    const { bulkhead } = setUp();
    {
      using one = await bulkhead.acquire();
      await using two = await bulkhead.acquire();
      expect([one.name, two.fence > one.fence, await bulkhead.activeCount()]).toEqual(["b", true, 2]);
      expect(await two.release()).toBe(true);
    }
    expect(await bulkhead.activeCount()).toBe(0);
  });

  test("tells a holder by listener, signal and callback that its lease has passed, and lets the next in", async () => {
    const told: string[] = [];
    const { bulkhead, advance, store } = setUp({
      lease: 100,
      maxWait: 1000,
      onLost: (name, permit) => told.push(`${name} ${permit.fence}`),
    }, true);
    const owner = {};
    const held = await bulkhead.acquire({ weight: 2, owner });
    held.onLost(() => told.push("listener"));
    const taken = held.onLost(() => told.push("taken back"));
    taken();
    const { signal } = held;
    const next = bulkhead.acquire({ owner: {} });
    await advance(90);
    store.heard(owner);
    await advance(90);
    expect([held.lost, signal.aborted, told]).toEqual([false, false, []]);
    await advance(10);
    expect([held.lost, signal.aborted, told]).toEqual([true, true, ["b 1", "listener"]]);
    expect(signal.reason).toMatchObject({ code: "BULKHEAD_LOST" });
    expect((await next).fence).toBeGreaterThan(held.fence);
    expect(await held.release()).toBe(false);
    expect(await bulkhead.activeCount()).toBe(1);
    held.onLost(() => told.push("too late"));
    expect(told.at(-1)).toBe("too late");
  });

  test("goes on when a listener for the loss throws", async () => {
    const { bulkhead, advance, errors } = setUp({ lease: 10, maxWait: 100 }, true);
    const held = await bulkhead.acquire({ weight: 2, owner: {} });
    const told: string[] = [];
    held.onLost(() => {
      throw new Error("listener");
    });
    held.onLost(() => told.push("second"));
    const next = bulkhead.acquire();
    await advance(10);
    expect([(await next).weight, told, errors]).toEqual([1, ["second"], [new Error("listener")]]);
  });

  test("may be asked again from within a listener: order and numbers hold", async () => {
    const { bulkhead, store, advance, lost, overtaken } = setUp({ lease: 10, maxWait: 1000 }, true);
    const order: string[] = [];
    const take = (label: string) => bulkhead.acquire().then((permit) => (order.push(label), permit));
    const held = await bulkhead.acquire({ weight: 2, owner: {} });
    const inside: Promise<BulkheadPermit>[] = [];
    held.onLost(() => {
      inside.push(take("inside"));
      void held.release();
      store.gone({});
    });
    const outside = [take("first"), take("second")];
    await ticks();
    await advance(10);
    expect([order, lost, overtaken]).toEqual([["first", "second"], ["b"], []]);
    await (await outside[0]!).release();
    await (await inside[0]!).release();
    expect(order.at(-1)).toBe("inside");
    await (await outside[1]!).release();
    expect(await bulkhead.counts()).toMatchObject({ active: 0, queued: 0 });
  });

  test("refuses to be made of what makes no sense", () => {
    const { store } = setUp();
    const code = (options: BulkheadOptions & { name?: string }) => {
      try {
        return new Bulkhead({ name: "b", maxConcurrent: 1, ...options, store }).name;
      } catch (error) {
        return (error as { code: string }).code;
      }
    };
    expect(code({})).toBe("b");
    for (const name of ["", "a b", "a\n", "a/b", "x".repeat(129)]) expect(code({ name })).toBe("BULKHEAD_NAME");
    for (const maxConcurrent of [0, -1, 1.5, NaN, Infinity]) expect(code({ maxConcurrent })).toBe("BULKHEAD_LIMIT");
    for (const maxQueue of [-1, 1.5, NaN]) expect(code({ maxQueue })).toBe("BULKHEAD_LIMIT");
    for (const lease of [0, -1, NaN, Infinity]) expect(code({ lease })).toBe("BULKHEAD_TIME");
    for (const maxWait of [-1, NaN, Infinity]) expect(code({ maxWait })).toBe("BULKHEAD_TIME");
  });

  test("20 clients, 5 permits, 50 ms of work, 200 ms of patience: all served in FIFO laps", async () => {
    const waited: number[] = [];
    const { make, advance, clock } = setUp({
      maxConcurrent: 5,
      maxWait: 200,
      onAccepted: (_, ms) => waited.push(ms),
    });
    const work = () => new Promise<void>((done) => void clock.setTimer(50, done));
    const all = Promise.all(Array.from({ length: 20 }, () => make().call(work)));
    await ticks();
    for (let i = 0; i < 20; i++) await advance(10);
    await all;
    expect(waited).toEqual([0, 50, 100, 150].flatMap((ms) => Array.from({ length: 5 }, () => ms)));
  });
});

describe("KeyedBulkhead", () => {
  const make = (maxKeys?: number) => {
    const memory = testMemory();
    const keyed = new KeyedBulkhead({
      name: "k",
      maxConcurrent: 1,
      store: memory.store,
      ...(maxKeys === undefined ? undefined : { maxKeys }),
    });
    return { ...memory, keyed };
  };

  test("has permits for each key, and keeps nothing of a key that nobody uses", async () => {
    const { keyed } = make();
    const held = [await keyed.for("a").acquire(), await keyed.for("b c").acquire()];
    expect(held.map(({ name }) => name)).toEqual(["k/a", "k/b~20c"]);
    expect(await keyed.for("a").tryAcquire()).toBe(undefined);
    expect(await rejection(keyed.for("a").call(() => 1))).toMatchObject({ code: "BULKHEAD_FULL", bulkhead: "k/a" });
    expect(keyed.keys).toBe(2);
    for (const permit of held) await permit.release();
    for (const permit of held) await permit.release();
    expect(keyed.keys).toBe(0);
    expect(await keyed.for("a").call(() => "a")).toBe("a");
    expect([keyed.keys, await keyed.for("a").activeCount(), await keyed.for("new").availableSlots()]).toEqual([
      0,
      0,
      1,
    ]);
  });

  test("has keys beyond the most share a few bulkheads, never those of the others", async () => {
    const { keyed } = make(2);
    await keyed.for("a").acquire();
    await keyed.for("b").acquire();
    const names = new Set<string>();
    for (let i = 0; i < 200; i++) {
      const permit = await keyed.for(`key ${i}`).tryAcquire();
      if (permit !== undefined) names.add(permit.name);
    }
    expect(names.size).toBe(8);
    for (const name of names) expect(name).toMatch(/^k\/~00shared~20\d$/);
    // Keys that have their own keep it.
    expect(await keyed.for("a").tryAcquire()).toBe(undefined);
  });

  test("takes keys of any length and kind", async () => {
    const { keyed } = make();
    for (const key of ["", "x".repeat(10_000), "é".repeat(100), "\n", "a/b", "~41"]) {
      expect(await keyed.for(key).call(({ name }) => checkName(name) === name)).toBe(true);
    }
  });
});

test("names with keys are told apart, and nothing else passes for one", () => {
  expect(keyedName("k", "a b")).toBe("k/a~20b");
  expect(keyedName("k", "a~20b")).toBe("k/a~7e20b");
  expect(baseName("k/a~20b")).toBe("k");
  expect(() => checkBaseName("k/a")).toThrow("Expected the name");
  expect(() => checkName("k/a b")).toThrow("Expected the name");
  expect(() => keyedName("k", "x".repeat(254))).toThrow("Expected a key");
});

describe("BulkheadRegistry", () => {
  test("fills in what the host has configured, and refuses what nobody has", async () => {
    const limits = new Limits([["api", { maxConcurrent: 3, maxWait: 40, maxQueue: 9, lease: 70 }]]);
    const { store, advance } = testMemory({ limits });
    const registry = new BulkheadRegistry(store, limits);
    expect(registry.get("api")).toMatchObject({ maxConcurrent: 3, maxWait: 40, maxQueue: 9, lease: 70 });
    expect(registry.get("api", { maxConcurrent: 2, maxWait: 0 })).toMatchObject({ maxConcurrent: 2, maxWait: 0 });
    expect(registry.get("other", { maxConcurrent: 2 })).toMatchObject({ maxConcurrent: 2, maxWait: 0, lease: 5000 });
    expect(() => registry.get("other")).toThrow("[bulkhead.limits.other]");
    const permits: BulkheadPermit[] = [];
    for (let i = 0; i < 3; i++) permits.push(await registry.get("api", { maxConcurrent: 50 }).acquire());
    const fourth = rejection(registry.get("api", { maxConcurrent: 50 }).acquire());
    await advance(40);
    expect(await fourth).toMatchObject({ code: "BULKHEAD_TIMEOUT" });
    expect(await registry.keyed("api").for("t").availableSlots()).toBe(3);
  });
});
