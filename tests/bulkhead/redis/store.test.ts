import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Dial, dialRedis } from "../../../plugins/bulkhead/redis/dial.ts";
import type { RedisStoreOptions } from "../../../plugins/bulkhead/redis/redis_options.ts";
import { RedisStore } from "../../../plugins/bulkhead/redis/redis_store.ts";
import type { BulkheadAnswer, BulkheadAsk, BulkheadGrant } from "../../../plugins/bulkhead/store.ts";
import { allowSlowTests, pause, waitFor, within } from "../../support/wait.ts";
import { connectTo } from "./rig.ts";
import { RedisServer } from "./server.ts";

allowSlowTests(60_000);

const ask = (changes: Partial<BulkheadAsk> = {}): BulkheadAsk => ({
  name: "b",
  limit: 1,
  weight: 1,
  leaseMs: 1000,
  maxWaitMs: 5000,
  ...changes,
});

function granted(answer: BulkheadAnswer): BulkheadGrant {
  if (!answer.granted) throw new Error(`Expected a grant, got ${answer.reason}`);
  return answer;
}

/** A host that dies as by SIGKILL: nothing is sent any more, and nothing is heard. */
function mortal(url: string): { readonly dial: Dial; die(): void } {
  let dead = false;
  let destroy = () => {};
  return {
    dial: async (channel, onMessage, onEnd) => {
      if (dead) throw new Error("dead");
      const wire = await dialRedis({ url })(channel, onMessage, onEnd);
      destroy = () => wire.destroy();
      return wire;
    },
    die() {
      dead = true;
      destroy();
    },
  };
}

describe("hosts that share a Redis", () => {
  let server: RedisServer;
  const stores: RedisStore[] = [];
  let count = 0;
  beforeAll(async () => {
    server = await RedisServer.start();
  });
  afterAll(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await server.stop();
  });

  const prefix = () => `s${count++}:`;
  async function host(options: Partial<RedisStoreOptions> & { prefix: string }, started = true): Promise<RedisStore> {
    const store = new RedisStore({ dial: dialRedis({ url: server.url }), tick: 200, ...options });
    stores.push(store);
    if (started) await store.start();
    return store;
  }
  async function query(...args: string[]): Promise<unknown> {
    const client = await connectTo(server.url);
    try {
      return await client.sendCommand(args);
    } finally {
      await client.close();
    }
  }

  test("wait for a host that was killed no longer than its lease", async () => {
    const [at, killer] = [prefix(), mortal(server.url)];
    const [victim, other] = [await host({ prefix: at, dial: killer.dial }), await host({ prefix: at })];
    granted(await victim.acquire(ask({ leaseMs: 400 })));
    const began = performance.now();
    killer.die();
    const next = granted(await other.acquire(ask({ leaseMs: 400 })));
    expect(performance.now() - began).toBeLessThan(400 + 60);
    await next.release();
  });

  test("do not stand behind the waiters of a host that was killed", async () => {
    const [at, killer] = [prefix(), mortal(server.url)];
    const [victim, other] = [await host({ prefix: at, dial: killer.dial }), await host({ prefix: at })];
    const held = granted(await other.acquire(ask({ leaseMs: 300 })));
    const dead = [victim.acquire(ask({ leaseMs: 300 })), victim.acquire(ask({ leaseMs: 300, maxWaitMs: 4000 }))];
    await waitFor(async () => (await other.counts("b"))?.queued === 2, { what: "two in line", every: 5 });
    killer.die();
    const mine = other.acquire(ask({ leaseMs: 300 }));
    // Longer than waiters are kept for a silent host.
    await pause(700);
    await held.release();
    const next = granted(await within(200, "the next grant", mine as Promise<BulkheadAnswer>));
    await next.release();
    for (const answer of await Promise.all(dead)) {
      expect(answer).toMatchObject({ granted: false, reason: "unavailable" });
    }
  });

  test("keep permits for far longer than a lease while they live, and are not told of a loss", async () => {
    const at = prefix();
    const [store, other] = [await host({ prefix: at }), await host({ prefix: at })];
    const held = granted(await store.acquire(ask({ leaseMs: 150 })));
    let lost = 0;
    held.onLost(() => lost++);
    expect(await other.acquire(ask({ maxWaitMs: 800, leaseMs: 150 }))).toMatchObject({
      granted: false,
      reason: "timeout",
    });
    expect([held.lost, lost]).toEqual([false, 0]);
    expect(await held.release()).toBe(true);
  });

  test("learn of grants whose every message is lost", async () => {
    const at = prefix();
    const deaf: Dial = (channel, _onMessage, onEnd) => dialRedis({ url: server.url })(channel, () => {}, onEnd);
    const store = await host({ prefix: at, dial: deaf });
    const held = granted(await store.acquire(ask()));
    const next = store.acquire(ask());
    await waitFor(async () => (await store.counts("b"))?.queued === 1, { what: "one in line", every: 5 });
    await held.release();
    // One tick of 200 ms, and a slow machine.
    await granted(await within(400, "the grant", next)).release();
  });

  test("lose nothing by SCRIPT FLUSH, and keep their order", async () => {
    const at = prefix();
    const store = await host({ prefix: at });
    const order: number[] = [];
    const held = granted(await store.acquire(ask()));
    await query("SCRIPT", "FLUSH");
    const rest = Array.from({ length: 50 }, async (_, i) => {
      const grant = granted(await store.acquire(ask()));
      order.push(i);
      await grant.release();
    });
    await held.release();
    await Promise.all(rest);
    expect(order).toEqual(Array.from({ length: 50 }, (_, i) => i));
  });

  test("claim again what they hold when Redis has lost its data, and keep their place in line", async () => {
    const at = prefix();
    const store = await host({ prefix: at, tick: 100 });
    const held = granted(await store.acquire(ask({ limit: 2, weight: 2 })));
    const order: string[] = [];
    const late = [0, 1].map((i) =>
      store.acquire(ask({ limit: 2, weight: 2 })).then(async (answer) => {
        order.push(String(i));
        await granted(answer).release();
      })
    );
    await waitFor(async () => (await store.counts("b"))?.queued === 2, { what: "two in line", every: 5 });
    await query("FLUSHALL");
    await waitFor(async () => (await store.counts("b"))?.queued === 2, { what: "two in line again", every: 5 });
    expect(await store.counts("b")).toMatchObject({ active: 2, holders: 1, queued: 2 });
    expect(held.lost).toBe(false);
    expect(await held.release()).toBe(true);
    await Promise.all(late);
    expect(order).toEqual(["0", "1"]);
  });

  test("go on after a restart with nothing kept: holders hold, fences rise", async () => {
    const own = await RedisServer.start();
    try {
      const store = new RedisStore({ dial: dialRedis({ url: own.url }), tick: 100, grace: 5000 });
      await store.start();
      const held = granted(await store.acquire(ask({ leaseMs: 5000 })));
      const next = store.acquire(ask({ leaseMs: 5000, maxWaitMs: 10_000 }));
      await own.kill();
      const during = store.acquire(ask({ leaseMs: 5000, maxWaitMs: 10_000 }));
      await own.start();
      await waitFor(async () => store.connected && (await store.counts("b"))?.queued === 2, { what: "both in line" });
      expect(await store.counts("b")).toMatchObject({ active: 1, queued: 2 });
      expect(await held.release()).toBe(true);
      const second = granted(await next);
      expect(second.fence).toBeGreaterThan(held.fence);
      await second.release();
      const third = granted(await during);
      expect(third.fence).toBeGreaterThan(second.fence);
      await third.release();
      await store.close();
    } finally {
      await own.stop();
    }
  });

  test("are told of a loss when Redis stays away for longer than a lease, and on time", async () => {
    const own = await RedisServer.start();
    try {
      const lost: string[] = [];
      const dial = dialRedis({ url: own.url });
      const store = new RedisStore({ dial, tick: 100, grace: 50, events: { lost: (name) => void lost.push(name) } });
      await store.start();
      const held = granted(await store.acquire(ask({ leaseMs: 400 })));
      const told = new Promise<void>((done) => void held.onLost(done));
      await own.kill();
      const began = performance.now();
      await within(1000, "the loss", told);
      expect(performance.now() - began).toBeLessThan(400 + 60);
      expect([held.lost, lost]).toEqual([true, ["b"]]);
      expect(await held.release()).toBe(false);
      await store.close();
    } finally {
      await own.stop();
    }
  });

  test("give up a connection on which nothing comes back", async () => {
    const own = await RedisServer.start();
    try {
      const store = new RedisStore({
        dial: dialRedis({ url: own.url, connectTimeout: 200 }),
        commandTimeout: 200,
        grace: 100,
      });
      await store.start();
      own.signal("SIGSTOP");
      expect(await within(2000, "the answer", store.acquire(ask({ maxWaitMs: 400 }))))
        .toMatchObject({ granted: false, reason: "unavailable" });
      own.signal("SIGCONT");
      const grant = await waitFor(async () => {
        const answer = await store.acquire(ask({ maxWaitMs: 1000 }));
        return answer.granted ? answer : undefined;
      }, { what: "a grant" }) as BulkheadGrant;
      await grant.release();
      await store.close();
    } finally {
      await own.stop();
    }
  });

  test("whose Redis is away do what their policy says", async () => {
    const own = await RedisServer.start();
    const url = own.url;
    try {
      const at = (outage: "closed" | "open" | "degraded", hosts = 1) =>
        new RedisStore({ dial: dialRedis({ url }), outage, hosts, grace: 100, tick: 100, prefix: `${outage}:` });
      const [closed, open, degraded] = [at("closed"), at("open"), at("degraded", 2)];
      await Promise.all([closed, open, degraded].map((store) => store.start()));
      const four = { limit: 4, leaseMs: 5000 };
      const before = granted(await degraded.acquire(ask(four)));
      await own.kill();
      await waitFor(() => !closed.connected && !degraded.connected, { what: "the loss to be noticed", every: 5 });
      expect(await closed.acquire(ask({ maxWaitMs: 0 }))).toMatchObject({ granted: false, reason: "unavailable" });
      expect(await closed.acquire(ask())).toMatchObject({ granted: false, reason: "unavailable" });
      const free = [granted(await open.acquire(ask())), granted(await open.acquire(ask()))];
      expect(free[1]!.fence).toBeGreaterThan(free[0]!.fence);

      // Half of four, one of which it holds already.
      const mine = granted(await degraded.acquire(ask(four)));
      expect(mine.fence).toBeGreaterThan(before.fence);
      expect(await degraded.acquire(ask({ ...four, maxWaitMs: 0 }))).toMatchObject({ granted: false, reason: "full" });
      expect(await degraded.acquire(ask({ ...four, weight: 3 }))).toMatchObject({ reason: "unavailable" });
      const second = degraded.acquire(ask(four));
      const third = degraded.acquire(ask(four));
      expect(await before.release()).toBe(true);
      const heir = granted(await second);

      // Back again: what was let in counts, and who waits does so in Redis.
      await own.start();
      await waitFor(async () => degraded.connected && (await degraded.counts("b"))?.active === 3, {
        what: "three to hold",
      });
      const fromRedis = granted(await third);
      expect(fromRedis.fence).toBeGreaterThan(heir.fence);
      for (const grant of [mine, heir, fromRedis, ...free]) expect(await grant.release()).toBe(true);
      expect(await degraded.counts("b")).toMatchObject({ active: 0, queued: 0 });
      await Promise.all([closed, open, degraded].map((store) => store.close()));
    } finally {
      await own.stop();
    }
  });

  test("know how many they are, for their shares", async () => {
    const own = await RedisServer.start();
    try {
      const make = () => new RedisStore({ dial: dialRedis({ url: own.url }), outage: "degraded", grace: 20, tick: 50 });
      const [a, b] = [make(), make()];
      for (const store of [a, b]) await granted(await store.acquire(ask({ limit: 4 }))).release();
      const alive = granted(await a.acquire(ask({ limit: 4 })));
      await waitFor(() => a.members === 2, { what: "the first to hear of the second", every: 5 });
      await own.kill();
      await waitFor(() => !a.connected, { what: "the loss to be noticed", every: 5 });
      const one = granted(await a.acquire(ask({ limit: 4 })));
      expect(await a.acquire(ask({ limit: 4, maxWaitMs: 0 }))).toMatchObject({ granted: false });
      for (const grant of [alive, one]) await grant.release();
      await Promise.all([a.close(), b.close()]);
    } finally {
      await own.stop();
    }
  });

  test("leave nothing behind that stays for ever", async () => {
    const at = prefix();
    const store = await host({ prefix: at });
    const held = granted(await store.acquire(ask()));
    const next = store.acquire(ask());
    await waitFor(async () => (await store.counts("b"))?.queued === 1, { what: "one in line", every: 5 });
    const keys = await query("KEYS", `${at}*`) as string[];
    expect(keys.length).toBe(6);
    for (const key of keys) expect(Number(await query("PTTL", key))).toBeGreaterThan(0);
    await held.release();
    await granted(await next).release();
    expect((await query("KEYS", `${at}*`) as string[]).map((key) => key.slice(-1)).sort()).toEqual(["a", "m"]);
  });

  test("use keys of one slot for each bulkhead, so that a cluster can hold them", async () => {
    const own = await RedisServer.start("redis", ["--cluster-enabled", "yes"]);
    try {
      const client = await connectTo(own.url);
      await client.sendCommand(["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]);
      await waitFor(async () => String(await client.sendCommand(["CLUSTER", "INFO"])).includes("cluster_state:ok"), {
        what: "the cluster",
      });
      await client.close();
      const store = new RedisStore({ dial: dialRedis({ url: own.url }) });
      for (const name of ["a", "b", "c/d"]) {
        const held = granted(await store.acquire(ask({ name })));
        const next = store.acquire(ask({ name }));
        await waitFor(async () => (await store.counts(name))?.queued === 1, { what: "one in line", every: 5 });
        await held.release();
        await granted(await next).release();
      }
      await store.close();
    } finally {
      await own.stop();
    }
  });

  test("send as many commands for each permit, however many wait for it", async () => {
    const at = prefix();
    const store = await host({ prefix: at, tick: 1000 });
    const perPermit = async (clients: number) => {
      const before = store.commands;
      let permits = 0;
      await Promise.all(Array.from({ length: clients }, async () => {
        for (let i = 0; i < 600 / clients; i++) {
          await granted(await store.acquire(ask({ limit: 2, leaseMs: 5000, maxWaitMs: 20_000 }))).release();
          permits++;
        }
      }));
      return (store.commands - before) / permits;
    };
    const [few, many] = [await perPermit(3), await perPermit(100)];
    // One to ask, one to give back; and a beat now and then.
    expect(few).toBeLessThan(2.1);
    expect(many).toBeLessThan(2.1);
  });
});
