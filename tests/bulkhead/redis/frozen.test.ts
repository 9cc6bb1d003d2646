import { describe, expect, test } from "bun:test";
import { Bulkhead } from "../../../plugins/bulkhead/bulkhead.ts";
import { dialRedis } from "../../../plugins/bulkhead/redis/dial.ts";
import type { RedisStoreOptions } from "../../../plugins/bulkhead/redis/redis_options.ts";
import { RedisStore } from "../../../plugins/bulkhead/redis/redis_store.ts";
import type { BulkheadAnswer } from "../../../plugins/bulkhead/store.ts";
import { VirtualClock } from "../../admission/virtual_clock.ts";
import { allowSlowTests, pause, waitFor, within } from "../../support/wait.ts";
import { ask, granted } from "../conformance.ts";
import { ticks } from "../memory.ts";
import { FakeWire } from "./fake_wire.ts";
import { RedisServer, serverAbsent } from "./server.ts";

allowSlowTests(60_000);

/** Later than asked by no more than this (ms): 50 of them are waited for Redis itself, and others may have the machine. */
const slack = 250;

/**
 * How long (ms) the event loop has stood still so far, by a busy machine or code that runs for the first time: as long as that no
 * timer can be in time.
 */
function stood(): { readonly ms: number } & Disposable {
  let [ms, last] = [0, performance.now()];
  const ticking = setInterval(() => {
    const now = performance.now();
    ms += Math.max(now - last - 10, 0);
    last = now;
  }, 5);
  return {
    get ms() {
      return ms;
    },
    [Symbol.dispose]: () => clearInterval(ticking),
  };
}

const epoch = "e-1";
const grantedReply = (fence: number) => [1, String(fence), "0", -1, epoch, 0];
const queuedReply = (ticket: number) => [2, String(ticket), "0", -1, epoch, 0];

async function played(options: Partial<RedisStoreOptions> = {}, mute = false) {
  const clock = new VirtualClock();
  const wire = new FakeWire();
  wire.mute = mute;
  const store = new RedisStore({ dial: wire.dial, clock, random: () => 0, ...options });
  const started = store.start();
  if (!mute) await started;
  /** What `answer` has come to, `ms` later. */
  const after = async (answer: Promise<BulkheadAnswer>, ms: number): Promise<BulkheadAnswer | undefined> => {
    let settled: BulkheadAnswer | undefined;
    void answer.then((one) => settled = one);
    for (let left = ms; left > 0; left -= 10) {
      clock.advance(Math.min(left, 10));
      await ticks();
    }
    return settled;
  };
  return { clock, wire, store, after };
}

describe("a Redis that does not answer (played)", () => {
  for (const maxWaitMs of [0, 1000]) {
    test(`holds up nobody for longer than asked: ${maxWaitMs} ms`, async () => {
      const { store, wire, after } = await played();
      const answer = store.acquire(ask({ maxWaitMs }));
      expect(await after(answer, maxWaitMs + 40)).toBe(undefined);
      const denial = await after(answer, 20);
      expect(denial).toMatchObject({ granted: false, reason: "unavailable", waitedMs: maxWaitMs + 50 });
      expect(String((denial as { cause?: unknown }).cause)).toContain(`No answer from Redis for ${maxWaitMs + 50} ms`);
      // Whatever it does with the first command, the last one undoes: they are carried out in order.
      const id = wire.of("acquire")[0]!.words[1]!;
      expect(wire.sent.at(-1)!.words).toEqual(["leave", id, "0"]);
    });
  }

  test("gives nothing to who has been denied, whenever it goes on", async () => {
    const { store, wire, after } = await played();
    const waits = store.acquire(ask({ maxWaitMs: 1000 }));
    expect(await after(waits, 1060)).toMatchObject({ granted: false });
    const [asked] = wire.of("acquire");
    const [keep, leave] = wire.of("leave");
    asked!.answer(grantedReply(7));
    keep!.answer([2, "7", epoch]);
    leave!.answer([3, "0", epoch]);
    wire.message(`b ${asked!.words[1]} 7`);
    await ticks();
    // Nothing is held here: there is no beat for it, and no waiter.
    await after(waits, 1500);
    expect(wire.of("beat").length).toBe(0);
    const counts = store.counts("b");
    await ticks();
    wire.drop();
    expect(await counts).toMatchObject({ active: 0, holders: 0, queued: 0 });
  });

  test("that says so in time still grants at the last moment, or times out", async () => {
    for (const [reply, expected] of [[[2, "9", epoch], "granted"], [[1, "0", epoch], "timeout"]] as const) {
      const { store, wire, after } = await played();
      const waits = store.acquire(ask({ maxWaitMs: 100 }));
      await ticks();
      wire.of("acquire")[0]!.answer(queuedReply(1));
      expect(await after(waits, 130)).toBe(undefined);
      wire.of("leave")[0]!.answer(reply);
      const answer = await waits;
      expect(answer.granted ? "granted" : answer.reason).toBe(expected);
      expect(answer.waitedMs).toBeGreaterThanOrEqual(100);
    }
  });

  test("does not answer who stood in line: unavailable, too, as nobody knows better", async () => {
    const { store, wire, after } = await played();
    const waits = store.acquire(ask({ maxWaitMs: 200 }));
    await ticks();
    wire.of("acquire")[0]!.answer(queuedReply(1));
    expect(await after(waits, 260)).toMatchObject({ reason: "unavailable", waitedMs: 250 });
  });

  test("is given up although it took the connection, and dialled again", async () => {
    const { store, wire, after } = await played({}, true);
    const waits = store.acquire(ask({ maxWaitMs: 100 }));
    expect(await after(waits, 110)).toMatchObject({ reason: "unavailable", waitedMs: 100 });
    const never = store.acquire(ask());
    expect(await after(never, 260)).toMatchObject({ reason: "unavailable", waitedMs: 250 });
    await after(never, 5000);
    expect(wire.dials).toBeGreaterThan(1);
    wire.mute = false;
    await after(never, 4000);
    expect(store.connected).toBe(true);
  });

  test("that is connected to for the first time is waited for a moment, also by who would not wait", async () => {
    const clock = new VirtualClock();
    const wire = new FakeWire();
    const store = new RedisStore({ dial: wire.dial, clock });
    const answer = store.acquire(ask());
    await ticks();
    wire.of("acquire")[0]!.answer(grantedReply(3));
    expect(granted(await answer).fence).toBe(3);
    // One that refuses the connection is not.
    const refused = new RedisStore({ dial: () => Promise.reject(new Error("ECONNREFUSED")), clock });
    expect(await refused.acquire(ask())).toMatchObject({ reason: "unavailable", waitedMs: 0 });
  });

  test("has its scripts loaded again without a word", async () => {
    const { store, wire, after } = await played();
    const [first, second] = [store.acquire(ask({ maxWaitMs: 100 })), store.acquire(ask())];
    await ticks();
    for (const one of wire.of("acquire")) one.fail("NOSCRIPT No matching script");
    await ticks();
    expect(wire.of("acquire").length).toBe(4);
    expect(await after(second, 60)).toMatchObject({ reason: "unavailable" });
    expect(await after(first, 100)).toMatchObject({ reason: "unavailable", waitedMs: 150 });
  });

  test("is told the limit again when it may not have heard of it", async () => {
    const { store, wire, after } = await played();
    const waits = store.acquire(ask({ limit: 3, maxWaitMs: 1000 }));
    await ticks();
    wire.drop();
    expect(await after(waits, 100)).toBe(undefined);
    const second = store.acquire(ask({ limit: 3, maxWaitMs: 1000 }));
    await ticks();
    // The limit, and whether it shall count.
    expect(wire.of("acquire").map(({ words }) => words.slice(6, 8))).toEqual([["3", "1"], ["3", "1"], ["3", "0"]]);
    for (const asked of wire.of("acquire").slice(1)) asked.answer(grantedReply(1));
    for (const answer of [waits, second]) granted(await answer);
  });

  test("is not waited for by who leaves", async () => {
    for (const mute of [false, true]) {
      const { store, wire } = await played({}, mute);
      const aborter = new AbortController();
      const waits = store.acquire(ask({ maxWaitMs: 1000, signal: aborter.signal }));
      await ticks();
      aborter.abort();
      expect(await waits).toMatchObject({ reason: "cancelled" });
      expect(wire.of("leave").length).toBe(mute ? 0 : 1);
    }
  });

  test("is not waited for by who gives back, who has been served, or who closes", async () => {
    const { store, wire, clock } = await played();
    const one = async () => {
      const answer = store.acquire(ask({ maxWaitMs: 1000, leaseMs: 30_000 }));
      await ticks();
      wire.of("acquire").at(-1)!.answer(grantedReply(7));
      return granted(await answer);
    };
    let back: unknown;
    void Promise.resolve((await one()).release()).then((inTime) => back = inTime);
    const bulkhead = new Bulkhead({ name: "b", maxConcurrent: 2, store });
    let served: unknown;
    void bulkhead.call(() => "served").then((answer) => served = answer);
    await ticks();
    wire.of("acquire").at(-1)!.answer(grantedReply(8));
    await ticks();
    clock.advance(4);
    await ticks();
    expect([back, served]).toEqual([undefined, undefined]);
    for (let i = 0; i < 2; i++) {
      clock.advance(1);
      await ticks();
    }
    expect([back, served]).toEqual([true, "served"]);
    // What was not answered is told again once there is a connection: Redis forgets it, or has it already.
    const ids = wire.of("release").map(({ words }) => words[1]!);
    wire.drop();
    for (let i = 0; i < 10 && !store.connected; i++) {
      clock.advance(10);
      await ticks();
    }
    expect(wire.of("leave").map(({ words }) => words.slice(1))).toEqual(ids.map((id) => [id, "0"]));
    void store.acquire(ask({ maxWaitMs: 1000 }));
    let closed = false;
    void store.close().then(() => closed = true);
    for (let i = 0; i < 6; i++) {
      clock.advance(10);
      await ticks();
    }
    expect(closed).toBe(true);
  });

  test("that says in time that permits were lost is believed", async () => {
    const { store, wire } = await played();
    for (const [flag, inTime] of [[0, false], [1, true]] as const) {
      const answer = store.acquire(ask());
      await ticks();
      wire.of("acquire").at(-1)!.answer(grantedReply(7));
      const back = granted(await answer).release();
      wire.of("release").at(-1)!.answer([epoch, flag]);
      expect(await back).toBe(inTime);
    }
  });

  test("is answered for by the policy: `open` lets in, and Redis counts it when it goes on", async () => {
    const { store, wire, after } = await played({ outage: "open" });
    for (const maxWaitMs of [0, 100]) {
      const grant = granted((await after(store.acquire(ask({ maxWaitMs, limit: 1 })), maxWaitMs + 60))!);
      const id = wire.of("acquire").at(-1)!.words[1]!;
      expect(wire.sent.slice(-2).map(({ words }) => words.slice(0, 3))).toEqual([
        ["leave", id, "0"],
        ["adopt", "1", id],
      ]);
      wire.of("adopt").at(-1)!.answer([epoch, 1]);
      await ticks();
      void grant.release();
      expect(wire.sent.at(-1)!.words).toEqual(["release", id]);
    }
  });

  test("that refuses a claim is told of: what runs is not counted there", async () => {
    const errors: unknown[] = [];
    const { store, wire, after } = await played({ outage: "open", onError: (error) => void errors.push(error) });
    granted((await after(store.acquire(ask()), 60))!);
    wire.of("adopt")[0]!.fail("ERR no such thing");
    await ticks();
    expect(errors.map(String)).toEqual(["Error: ERR no such thing"]);
  });

  test("that is far away has more time to answer, and one that stood still has not", async () => {
    const { store, wire, after, clock } = await played();
    const answerAfter = async (ms: number) => {
      const answer = store.acquire(ask({ maxWaitMs: 5000 }));
      await ticks();
      clock.advance(ms);
      wire.of("acquire").at(-1)!.answer([0, "0", "0", -1, epoch, 0]);
      await answer;
    };
    for (let i = 0; i < 400; i++) await answerAfter(100);
    expect(await after(store.acquire(ask()), 250)).toBe(undefined);
    await answerAfter(1);
    await answerAfter(1500);
    expect(await after(store.acquire(ask()), 60)).toMatchObject({ reason: "unavailable" });
  });
});

if (serverAbsent("redis") === undefined) {
  describe("a Redis that is stopped (SIGSTOP)", () => {
    /** Asks with and without a wait while it is stopped, and says how long that took. */
    async function frozen(server: RedisServer, store: RedisStore) {
      server.signal("SIGSTOP");
      using lag = stood();
      const began = performance.now();
      const timed = async (maxWaitMs: number, limit = 3) => {
        const answer = await within(5000, "an answer", store.acquire(ask({ maxWaitMs, limit, leaseMs: 30_000 })));
        return { answer, ms: performance.now() - began - lag.ms };
      };
      return await Promise.all([timed(0), timed(300), timed(1000)]);
    }

    test("denies in time, and what it grants late is back when it goes on", async () => {
      const server = await RedisServer.start();
      try {
        const [store, other] = [1, 2].map(() => new RedisStore({ dial: dialRedis({ url: server.url }), grace: 5000 }));
        await Promise.all([store!.start(), other!.start()]);
        granted(await store!.acquire(ask({ limit: 3, leaseMs: 30_000 })));
        for (const { answer, ms } of await frozen(server, store!)) {
          expect(answer).toMatchObject({ granted: false, reason: "unavailable" });
          expect(ms).toBeLessThan(1000 + slack);
        }
        server.signal("SIGCONT");
        // With leases of 30 s nothing but an answer to the late grant brings it back.
        const rest = await waitFor(async () => {
          const answer = await other!.acquire(ask({ limit: 3, weight: 2, leaseMs: 30_000 }));
          return answer.granted ? answer : undefined;
        }, { what: "the other two permits", timeout: 2000, every: 5 });
        expect(await other!.counts("b")).toMatchObject({ active: 3, holders: 2, queued: 0 });
        await rest.release();
        await Promise.all([store!.close(), other!.close()].map((closed) => Promise.race([closed, pause(100)])));
      } finally {
        await server.stop();
      }
    });

    test("holds up nobody who gives back, whether it goes on or is given up", async () => {
      const server = await RedisServer.start();
      try {
        const dial = dialRedis({ url: server.url });
        const [store, hasty] = [5000, 100].map((commandTimeout) => new RedisStore({ dial, commandTimeout }));
        for (const host of [store!, hasty!]) await host.start();
        const held = [];
        for (const host of [store!, hasty!]) held.push(granted(await host.acquire(ask({ limit: 2, leaseMs: 30_000 }))));
        server.signal("SIGSTOP");
        using lag = stood();
        const began = performance.now();
        for (const grant of held) expect(await grant.release()).toBe(true);
        expect(performance.now() - began - lag.ms).toBeLessThan(slack);
        await waitFor(() => !hasty!.connected, { what: "the end of a connection" });
        server.signal("SIGCONT");
        // With leases of 30 s nothing else brings them back.
        const all = ask({ limit: 2, weight: 2, maxWaitMs: 5000 });
        granted(await within(2000, "both permits", store!.acquire(all)));
        for (const host of [store!, hasty!]) void host.close();
      } finally {
        await server.stop();
      }
    });

    test("denies each at its own time, also while it is being connected to again", async () => {
      const server = await RedisServer.start();
      try {
        const dial = dialRedis({ url: server.url, connectTimeout: 1500 });
        const store = new RedisStore({ dial, commandTimeout: 150, grace: 60_000 });
        await store.start();
        for (let round = 0; round < 2; round++) {
          const results = await frozen(server, store);
          expect(results.map(({ answer }) => answer.granted ? "granted" : answer.reason)).toEqual(
            ["unavailable", "unavailable", "unavailable"],
          );
          for (const [i, least] of [0, 300, 1000].entries()) {
            expect(results[i]!.answer.waitedMs).toBeGreaterThan(least - 5);
            expect(results[i]!.ms).toBeLessThan(least + slack);
          }
          // The second round finds no connection, and an attempt to make one that hangs.
          expect(store.connected).toBe(false);
        }
        await store.close();
      } finally {
        await server.stop();
      }
    });

    test("denies in time when it was never reached", async () => {
      const server = await RedisServer.start();
      try {
        server.signal("SIGSTOP");
        const store = new RedisStore({ dial: dialRedis({ url: server.url }), grace: 60_000 });
        using lag = stood();
        const [never, soon] = await Promise.all(
          [0, 500].map((maxWaitMs) => within(5000, "an answer", store.acquire(ask({ maxWaitMs })))),
        );
        expect(never).toMatchObject({ granted: false, reason: "unavailable" });
        expect(soon).toMatchObject({ granted: false, reason: "unavailable" });
        expect(never!.waitedMs).toBeLessThan(250 + slack + lag.ms);
        expect(soon!.waitedMs).toBeLessThan(500 + slack + lag.ms);
        server.signal("SIGCONT");
        await waitFor(() => store.connected, { what: "the connection" });
        granted(await store.acquire(ask()));
        await store.close();
      } finally {
        await server.stop();
      }
    });
  });
}
