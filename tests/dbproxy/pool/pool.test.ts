import { describe, expect, test } from "bun:test";
import { CoreError } from "../../../core/error.ts";
import { type FakeBackend, flush, unreachable, World } from "./world.ts";

const denied = Object.assign(new CoreError("DB_REFUSED", "Access denied"), { final: true });
const tooMany = new CoreError("DB_REFUSED", "Too many connections");

describe("a checkout", () => {
  test("has an idle backend at once, the last used first, and no timer or wait is its cost", async () => {
    const world = new World({ maxConnections: 3 });
    const [a, b] = [await world.lend(), await world.lend()];
    world.release(a);
    world.release(b);
    const timers = world.clock.timersSet;
    const c = world.ask();
    expect([c.backend, c.waited]).toEqual([b.backend!, 0]);
    expect(world.ask().backend).toBe(a.backend!);
    expect([world.dials.length, world.clock.timersSet]).toEqual([2, timers]);
    expect(world.pool.stats()).toMatchObject({ max: 3, idle: 0, used: 2, waiting: 0, kinds: new Map([["a", 2]]) });
  });

  test("has the idle backend that suits best, and never one that cannot", async () => {
    const world = new World({ maxConnections: 3 });
    const clients = [await world.lend(), await world.lend(), await world.lend()];
    const [near, far, never] = clients.map(({ backend }) => backend!);
    [far!.score, near!.score, never!.score] = [5, 1, Infinity];
    for (const client of clients) world.release(client);
    expect([world.ask().backend, world.ask().backend]).toEqual([near!, far!]);
    expect(world.ask().waiting).toBe(true);
    // The one that can never suit gave way.
    expect([never!.closed, world.dialing.length]).toEqual(["room", 1]);
  });

  test("waits in line, and is handed a backend in the moment it comes back", async () => {
    const world = new World({ maxConnections: 1 });
    const first = await world.lend();
    const [second, third] = [world.ask(), world.ask()];
    await world.advance(30);
    world.release(first);
    expect([second.backend, second.waited, third.waiting]).toEqual([first.backend!, 30, true]);
    world.release(second);
    expect([third.backend, world.dials.length]).toEqual([first.backend!, 1]);
  });

  test("that waits for a connection takes one that comes back sooner; the connection becomes idle", async () => {
    const world = new World({ maxConnections: 2 });
    const first = await world.lend();
    const second = world.ask();
    expect(world.dialing).toHaveLength(1);
    world.release(first);
    expect(second.backend).toBe(first.backend!);
    await world.connect();
    expect(world.pool.stats()).toMatchObject({ idle: 1, used: 1, dialing: 0 });
    expect(world.gate.used).toBe(1);
  });

  test("waits for a backend that is being cleaned, a short while, before it opens another", async () => {
    const world = new World({ maxConnections: 3 });
    world.clean = false;
    const first = await world.lend();
    world.release(first);
    const second = world.ask();
    expect(world.dialing).toHaveLength(0);
    await world.cleans[0]!.resolve(true);
    expect([second.backend, world.gate.used]).toEqual([first.backend!, 1]);
    world.release(second);
    const third = world.ask();
    await world.advance(10);
    expect([third.waiting, world.dialing.length]).toEqual([true, 1]);
  });

  test("is refused when nothing comes free in time, and told how many connections there are", async () => {
    const world = new World({ maxConnections: 2, poolTimeoutMs: 5_000 });
    await world.lend();
    await world.lend();
    const late = world.ask();
    const hasty = world.ask("a", world.clock.time + 1_500);
    await world.advance(1_500);
    expect(hasty.error?.message).toBe(
      "Cannot get a database connection: all 2 connections are in use; waited 1.5 s",
    );
    await world.advance(3_499);
    expect(late.waiting).toBe(true);
    await world.advance(1);
    expect([late.error?.code, late.error?.status]).toEqual(["DB_POOL_TIMEOUT", 503]);
    expect(world.events).toEqual(["refused DB_POOL_TIMEOUT", "refused DB_POOL_TIMEOUT"]);
  });

  test("waits in no line when the pool's timeout is 0, but for its own connection and its check", async () => {
    const world = new World({ maxConnections: 1, poolTimeoutMs: 0, connectTimeoutMs: 3_000 });
    const first = world.ask();
    await world.advance(1_000);
    expect(world.ask().error?.code).toBe("DB_POOL_TIMEOUT");
    await world.connect();
    world.release(first);
    await world.advance(600);
    const second = world.ask();
    await world.advance(100);
    await world.checks[0]!.resolve(true);
    expect([first.waited, second.waited, second.backend]).toEqual([1_000, 100, first.backend!]);
    world.discard(second);
    const third = world.ask();
    await world.dialing[0]!.reject(unreachable);
    expect([third.error, world.gate.used]).toEqual([unreachable, 0]);
    const fourth = world.ask();
    await world.advance(10);
    await world.connect();
    expect(fourth.waited).toBe(10);
  });

  test("that came to its permit late still has the time that a connection takes", async () => {
    const world = new World({ maxConnections: 1, poolTimeoutMs: 2_000, connectTimeoutMs: 1_000 });
    const first = await world.lend();
    const second = world.ask();
    await world.advance(1_900);
    world.discard(first);
    await world.advance(900);
    await world.connect();
    expect(second.waited).toBe(2_800);
  });

  test("is refused at once when the line is full", async () => {
    const world = new World({ maxConnections: 1, maxQueue: 1 });
    await world.lend();
    world.ask();
    expect(world.ask().error?.message).toBe(
      "Cannot get a database connection: all 1 connections are in use and 1 clients wait already",
    );
  });

  test("of another kind has the place of whoever was idle longest", async () => {
    const world = new World({ maxConnections: 2 });
    const [a, b] = [await world.lend("a"), await world.lend("b")];
    world.release(a);
    world.release(b);
    const c = world.ask("c");
    expect([a.backend!.closed, b.backend!.closed, world.dialing.length]).toEqual(["room", undefined, 1]);
    await world.connect();
    expect(c.backend?.kind).toBe("c");
  });

  test("of another kind has the place of a dial that nobody waits for any more", async () => {
    const world = new World({ maxConnections: 1 });
    world.ask("a").cancel();
    expect(world.dialing).toHaveLength(1);
    const b = world.ask("b");
    expect(world.dials.map(({ aborted }) => aborted)).toEqual([true, false]);
    const late = await world.connect(world.dials[0]);
    expect(late.closed).toBe("late");
    expect((await world.connect()).client).toBe(b);
  });
});

describe("a checkout while others seek", () => {
  test("has the place of a backend of another kind the moment it comes back", async () => {
    const world = new World({ maxConnections: 2 });
    const [first, second] = [await world.lend("a"), await world.lend("a")];
    world.release(first);
    await world.advance(600);
    world.ask("a").cancel();
    const b = world.ask("b");
    expect([b.waiting, world.checking.length, world.dialing.length]).toEqual([true, 1, 0]);
    world.release(second);
    expect([second.backend!.closed, world.dialing.length]).toEqual(["room", 1]);
  });

  test("has what is idle now rather than what is being checked", async () => {
    const world = new World({ maxConnections: 3 });
    const [first, second] = [await world.lend("a"), await world.lend("a")];
    world.release(first);
    await world.advance(600);
    world.ask("a").cancel();
    world.ask("b");
    world.release(second);
    expect(world.checking).toHaveLength(1);
    expect(world.ask("a").backend).toBe(second.backend!);
  });

  test("never has one whose life is over, even before the timer says so", async () => {
    const world = new World({ maxConnections: 2, maxLifetimeMs: 1_000, checkAfterMs: 10_000 });
    const first = await world.lend();
    world.release(first);
    world.clock.time += 900;
    expect(world.ask().waiting).toBe(true);
  });
});

describe("a cancelled checkout", () => {
  test("leaves no trace in line", async () => {
    const world = new World({ maxConnections: 1 });
    const first = await world.lend();
    const [gone, next] = [world.ask(), world.ask()];
    gone.cancel();
    gone.cancel();
    world.release(first);
    expect([next.backend, world.gate.used]).toEqual([first.backend!, 1]);
  });

  test("leaves the connection that was opened for it to the next, or to nobody", async () => {
    const world = new World({ maxConnections: 1 });
    const gone = world.ask();
    gone.cancel();
    expect(world.gate.used).toBe(0);
    const next = world.ask();
    expect(world.dials).toHaveLength(1);
    next.cancel();
    await world.connect();
    expect(world.pool.stats()).toMatchObject({ idle: 1, used: 0, waiting: 0 });
    expect(world.ask().backend).toBe(world.dials[0]!.backend);
  });

  test("leaves a backend that is being checked to the next", async () => {
    const world = new World({ maxConnections: 1 });
    world.release(await world.lend());
    await world.advance(500);
    world.ask().cancel();
    expect([world.gate.used, world.checking.length]).toEqual([0, 1]);
    const next = world.ask();
    await world.checks[0]!.resolve(true);
    expect([next.waiting, world.checks.length, world.gate.used]).toEqual([false, 1, 1]);
  });

  test("changes nothing once it was served", async () => {
    const world = new World();
    const client = await world.lend();
    client.checkout!.cancel();
    world.check();
    world.release(client);
    expect(world.gate.used).toBe(0);
  });
});

describe("an idle backend", () => {
  test("stays for ever where its life and its idle time have no end", async () => {
    const world = new World({ maxLifetimeMs: Infinity, idleTimeoutMs: Infinity });
    const first = await world.lend();
    world.release(first);
    await world.advance(1e9);
    expect([first.backend!.closed, world.pool.stats().idle]).toEqual([undefined, 1]);
  });

  test("is checked from 500 ms on, and not before", async () => {
    const world = new World();
    const first = await world.lend();
    world.release(first);
    await world.advance(499);
    const second = world.ask();
    expect(second.waiting).toBe(false);
    world.release(second);
    await world.advance(500);
    const third = world.ask();
    expect([third.waiting, world.checking.length, world.dialing.length]).toEqual([true, 1, 0]);
    await world.checks[0]!.resolve(true);
    expect(third.backend).toBe(first.backend!);
  });

  test("that fails its check is replaced", async () => {
    for (const fail of ["no", "throws", "silence"]) {
      const world = new World();
      const first = await world.lend();
      world.release(first);
      await world.advance(600);
      const second = world.ask();
      if (fail === "no") await world.checks[0]!.resolve(false);
      else if (fail === "throws") await world.checks[0]!.reject(new Error("gone"));
      else await world.advance(1_000);
      expect(first.backend!.closed).toBe(fail === "silence" ? "check_timeout" : "check_failed");
      expect((await world.connect()).client).toBe(second);
    }
  });

  test("that stays silent takes the others with it that nothing was heard of since", async () => {
    const world = new World({ maxConnections: 4 });
    const clients = [await world.lend(), await world.lend(), await world.lend()];
    world.release(clients[0]!);
    world.release(clients[1]!);
    await world.advance(900);
    const asks = world.ask();
    await world.advance(200);
    world.release(clients[2]!);
    expect(asks.backend).toBe(clients[2]!.backend!);
    await world.advance(800);
    expect(clients.map(({ backend }) => backend!.closed)).toEqual(["check_timeout", "check_timeout", undefined]);
  });

  test("that is lost is gone, and one that is lent goes when it comes back", async () => {
    const world = new World({ maxConnections: 2 });
    const [a, b] = [await world.lend(), await world.lend()];
    world.release(a);
    world.pool.lost(a.backend!, "spoke");
    world.pool.lost(b.backend!, "closed");
    expect([a.backend!.closed, b.backend!.closed]).toEqual(["spoke", undefined]);
    world.release(b);
    expect([b.backend!.closed, world.gate.used, world.open.size]).toEqual(["closed", 0, 0]);
    world.pool.lost(a.backend!, "spoke");
    world.pool.discard(a.backend!, "again");
    expect(() => world.pool.release(a.backend!)).toThrow("is not lent");
  });

  test("is closed after its idle time or its life, but for the minimum", async () => {
    const world = new World({ maxConnections: 3, minConnections: 1, idleTimeoutMs: 10_000, maxLifetimeMs: 60_000 });
    const clients = [await world.lend(), await world.lend(), await world.lend()];
    for (const client of clients) {
      await world.advance(1_000);
      world.release(client);
    }
    await world.advance(7_999);
    expect(world.events).toEqual([]);
    await world.advance(1);
    expect(world.events).toEqual(["closed idle"]);
    await world.advance(1_000);
    expect(world.events).toEqual(["closed idle", "closed idle"]);
    await world.advance(41_999);
    expect([world.events.length, clients[2]!.backend!.closed]).toEqual([2, undefined]);
    // 54 s is 90 % of its life: random is 0 here.
    await world.advance(1);
    expect([clients[2]!.backend!.closed, world.dialing.length]).toEqual(["lifetime", 1]);
  });

  test("needs one timer, however many there are, and none when all is quiet", async () => {
    const world = new World({ maxConnections: 8, idleTimeoutMs: 1_000 });
    const clients = await Promise.all(Array.from({ length: 8 }, () => world.lend()));
    for (const client of clients) world.release(client);
    expect(world.clock.peak).toBe(1);
    await world.advance(5_000);
    expect([world.open.size, world.clock.live]).toEqual([0, 0]);
  });
});

describe("a step", () => {
  test("that ends after its backend was lost has no effect", async () => {
    const world = new World({ maxConnections: 1 });
    world.release(await world.lend());
    await world.advance(600);
    const asks = world.ask();
    const { backend } = world.checks[0]!;
    world.pool.lost(backend, "closed");
    await world.checks[0]!.resolve(true);
    expect([asks.waiting, backend.closed, world.dialing.length]).toEqual([true, "closed", 1]);
    world.clean = false;
    await world.connect();
    world.release(asks);
    world.pool.lost(asks.backend!, "closed");
    expect(world.gate.used).toBe(0);
    await world.cleans[0]!.resolve(true);
    expect([world.pool.stats().idle, world.gate.used]).toEqual([0, 0]);
  });
});

describe("a backend that comes back", () => {
  test("keeps its permit until it is clean", async () => {
    const world = new World({ maxConnections: 1 });
    world.clean = false;
    const first = await world.lend();
    world.release(first);
    const second = world.ask();
    expect([world.gate.used, world.gate.queued, world.pool.stats().cleaning]).toEqual([1, 1, 1]);
    await world.cleans[0]!.resolve(true);
    expect(second.backend).toBe(first.backend!);
  });

  test("is closed where it does not get clean, or not in time, or is too old", async () => {
    for (const fail of ["no", "throws", "silence"]) {
      const world = new World({ maxConnections: 1 });
      world.clean = false;
      const first = await world.lend();
      world.release(first);
      const second = world.ask();
      if (fail === "no") await world.cleans[0]!.resolve(false);
      else if (fail === "throws") await world.cleans[0]!.reject(new Error("gone"));
      else await world.advance(1_000);
      expect(first.backend!.closed).toBe(fail === "silence" ? "clean_timeout" : "clean_failed");
      expect((await world.connect()).client).toBe(second);
    }
    const world = new World({ maxLifetimeMs: 10_000 });
    const old = await world.lend();
    await world.advance(9_000);
    world.release(old);
    expect([old.backend!.closed, world.gate.used]).toEqual(["lifetime", 0]);
    world.clean = false;
    const aging = await world.lend();
    await world.advance(8_500);
    world.release(aging);
    await world.advance(600);
    await world.cleans[0]!.resolve(true);
    expect([aging.backend!.closed, world.gate.used]).toEqual(["lifetime", 0]);
  });

  test("is closed when it is discarded, and its place is the next one's", async () => {
    const world = new World({ maxConnections: 1 });
    const first = await world.lend();
    const second = world.ask();
    world.discard(first);
    expect([first.backend!.closed, world.dialing.length]).toEqual(["broken", 1]);
    expect((await world.connect()).client).toBe(second);
  });
});

describe("when a connection cannot be opened", () => {
  test("it is tried again within the deadline, one at a time, after growing waits", async () => {
    const world = new World({ maxConnections: 3, breakerFailures: 99, breakerMs: 99_000 });
    const clients = [world.ask(), world.ask(), world.ask()];
    expect(world.dials).toHaveLength(3);
    for (const dial of world.dialing) await dial.reject(unreachable);
    let tries = 3;
    for (const wait of [10, 20, 40, 80, 160, 250, 250]) {
      await world.advance(wait - 1);
      expect([wait, world.dials.length]).toEqual([wait, tries]);
      await world.advance(1);
      expect([wait, world.dials.length]).toEqual([wait, ++tries]);
      await world.dialing[0]!.reject(unreachable);
    }
    await world.advance(250);
    expect((await world.connect()).client).toBe(clients[0]!);
    // The upstream is well: the others need not wait for each other.
    expect(world.dialing).toHaveLength(2);
  });

  test("whoever runs out of time is told what was wrong", async () => {
    const world = new World({ breakerFailures: 99, breakerMs: 99_000 });
    const client = world.ask("a", 100);
    await world.dialing[0]!.reject(unreachable);
    await world.advance(100);
    expect([client.error, world.gate.used]).toEqual([unreachable, 0]);
  });

  test("for good, it is not tried again for the one it was for", async () => {
    const world = new World({ maxConnections: 2, breakerFailures: 1 });
    const [a, b] = [world.ask(), world.ask()];
    await world.dials[0]!.reject(denied);
    expect([a.error, b.waiting, world.dials.length]).toEqual([denied, true, 2]);
    expect(world.pool.stats().breakerOpen).toBe(false);
    await world.connect();
    expect(b.waiting).toBe(false);
  });

  test("what the proxy itself refuses says nothing of the server: only the one it is for is refused", async () => {
    for (const code of ["DB_CHARSET", "DB_STATE_SCHEMA"]) {
      const world = new World({ maxConnections: 1, breakerFailures: 1 });
      const [one, next] = [world.ask("b"), world.ask("a")];
      await world.dialing[0]!.reject(new CoreError(code, "no"));
      expect([one.error?.code, world.pool.stats().breakerOpen]).toEqual([code, false]);
      expect((await world.connect()).client).toBe(next);
    }
  });

  test("a probe opens what is usual, and not what failed", async () => {
    const world = new World({ warm: "a", breakerFailures: 1 });
    world.ask("b");
    await world.dialing[0]!.reject(unreachable);
    await world.advance(250);
    expect(world.dialing.map(({ backend }) => backend.kind)).toEqual(["a"]);
  });

  test("the breaker opens after 2 s: whoever waits and whoever comes is refused with the last error", async () => {
    const world = new World({ maxConnections: 1, breakerFailures: 99 });
    const [a, b] = [world.ask(), world.ask()];
    while (world.clock.time < 2_000) {
      await world.dialing[0]?.reject(unreachable);
      expect([a.waiting, b.waiting]).toEqual([true, true]);
      await world.advance(10);
    }
    await world.advance(250);
    await world.dialing[0]!.reject(unreachable);
    expect([a.error, b.error, world.ask().error]).toEqual([unreachable, unreachable, unreachable]);
    expect(world.pool.stats()).toMatchObject({ breakerOpen: true, waiting: 0 });
    expect(world.gate.used).toBe(0);
  });

  test("the breaker opens after so many failures, probes every 250 ms, and closes when a probe succeeds", async () => {
    const world = new World({ maxConnections: 2, breakerFailures: 2 });
    world.ask();
    await world.dialing[0]!.reject(unreachable);
    await world.advance(10);
    await world.dialing[0]!.reject(unreachable);
    for (let probe = 0; probe < 3; probe++) {
      await world.advance(249);
      expect(world.dialing).toHaveLength(0);
      await world.advance(1);
      expect(world.dialing).toHaveLength(1);
      expect(world.ask().error).toBe(unreachable);
      await world.dialing[0]!.reject(unreachable);
    }
    await world.advance(250);
    const backend = await world.connect();
    expect(world.ask().backend).toBe(backend);
    expect(world.ask().waiting).toBe(true);
    expect(world.dialing).toHaveLength(1);
    expect(world.events.filter((event) => event.startsWith("breaker"))).toEqual(["breaker open", "breaker closed"]);
  });

  test("what is idle is lent even so", async () => {
    const world = new World({ maxConnections: 3, breakerFailures: 1 });
    const first = await world.lend();
    const second = world.ask();
    await world.dialing[0]!.reject(unreachable);
    expect(second.error).toBe(unreachable);
    world.release(first);
    expect(world.ask().backend).toBe(first.backend!);
  });

  test("the breaker does not wait for dials that still go on", async () => {
    const world = new World({ maxConnections: 2, breakerFailures: 1 });
    const [a, b] = [world.ask(), world.ask()];
    await world.dialing[0]!.reject(unreachable);
    expect([a.error, b.error, world.gate.used]).toEqual([unreachable, unreachable, 0]);
    await world.connect();
    expect(world.pool.stats()).toMatchObject({ breakerOpen: false, idle: 1 });
  });

  test("a silent address is unreachable, and what comes too late is closed", async () => {
    const world = new World({ connectTimeoutMs: 3_000, poolTimeoutMs: 10_000 });
    const client = world.ask();
    await world.advance(3_000);
    expect([client.error?.code, client.error?.message]).toEqual([
      "DB_UNREACHABLE",
      "Cannot reach the database: no connection within 3 s",
    ]);
    const [dial] = world.dials;
    expect([dial!.aborted, world.pool.stats().breakerOpen]).toEqual([true, true]);
    await world.connect(dial);
    expect(dial!.backend.closed).toBe("late");
    // A probe that hangs does not hold up the next for long.
    await world.advance(250);
    expect(world.dialing).toHaveLength(1);
    await world.advance(1_000);
    expect(world.dialing).toHaveLength(0);
    await world.advance(250);
    expect(world.dialing).toHaveLength(1);
  });

  test("because the server has too many, waiting goes on without the breaker", async () => {
    const world = new World({ breakerFailures: 1, poolTimeoutMs: 4_000 });
    const client = world.ask();
    for (let i = 0; i < 100 && client.waiting; i++) {
      await world.dialing[0]?.reject(tooMany);
      await world.advance(250);
    }
    // The one that goes on at the deadline is the last.
    expect([client.error, world.clock.time, world.pool.stats().breakerOpen]).toEqual([tooMany, 4_250, false]);
  });

  test("what a dial throws is told as an error with a code", async () => {
    const world = new World({
      breakerFailures: 1,
      dial: () => {
        throw new TypeError("no such host");
      },
    });
    const client = world.ask();
    await flush();
    expect([client.error?.code, client.error?.message]).toEqual([
      "DB_UNREACHABLE",
      "Cannot reach the database: no such host",
    ]);
  });
});

describe("dialing", () => {
  test("keeps to its rate", async () => {
    const world = new World({ maxConnections: 2, dialRate: 50 });
    for (let i = 0; i < 2; i++) {
      world.ask();
      world.discard(await (async () => (await world.connect()).client!)());
    }
    world.ask();
    world.ask();
    expect(world.dialing).toHaveLength(0);
    await world.advance(19);
    expect(world.dialing).toHaveLength(0);
    await world.advance(1);
    expect(world.dialing).toHaveLength(1);
    await world.advance(20);
    expect(world.dialing).toHaveLength(2);
  });

  test("keeps the minimum warm from the start, and backs off from a server that says no", async () => {
    const world = new World({ maxConnections: 3, minConnections: 2, warm: "a" });
    expect(world.dialing).toHaveLength(2);
    await world.connect();
    await world.dialing[0]!.reject(denied);
    await world.advance(999);
    expect(world.dialing).toHaveLength(0);
    await world.advance(1);
    await world.dialing[0]!.reject(denied);
    await world.advance(1_999);
    expect(world.dialing).toHaveLength(0);
    await world.advance(1);
    await world.connect();
    expect(world.pool.stats()).toMatchObject({ idle: 2, dialing: 0 });
    world.pool.lost(world.dials[0]!.backend, "closed");
    expect(world.dialing).toHaveLength(1);
  });
});

describe("a pool that drains", () => {
  test("refuses newcomers, serves who waits, and ends when all have come back", async () => {
    const world = new World({ maxConnections: 1 });
    const first = await world.lend();
    const second = world.ask();
    let drained = false;
    void world.pool.drain().then(() => drained = true);
    expect(world.ask().error?.code).toBe("DB_POOL_DRAINING");
    world.release(first);
    expect(second.backend).toBe(first.backend!);
    await flush();
    expect(drained).toBe(false);
    world.release(second);
    await flush();
    // The timer that is left is the gate's.
    expect([drained, world.open.size, world.clock.live]).toEqual([true, 0, 1]);
  });

  test("ends at once when nothing is lent, and gives up what it was opening", async () => {
    const world = new World({ maxConnections: 3, minConnections: 2, warm: "a" });
    await world.connect();
    await world.pool.drain();
    expect([world.open.size, world.dialing.length]).toEqual([0, 0]);
  });
});

describe("a promised backend", () => {
  /** Two idle backends, the promised one used before the other; and whose scores were asked for. */
  async function promise(idle = 0) {
    const asked: number[] = [];
    let mine: FakeBackend | undefined = undefined;
    const world = new World({
      maxConnections: 3,
      promised: (want) => want === "a" ? mine : undefined,
      score: (backend) => {
        asked.push(backend.id);
        return backend.score;
      },
    });
    const [first, second] = [await world.lend(), await world.lend()];
    world.release(first);
    await world.advance(idle);
    world.release(second);
    mine = first.backend!;
    asked.length = 0;
    return { world, asked, mine, other: second.backend! };
  }

  test("is taken before all others, without a look at them", async () => {
    const { world, asked, mine, other } = await promise();
    expect([world.ask().backend, asked]).toEqual([mine, [mine.id]]);
    // It is lent now: the next has another.
    expect(world.ask().backend).toBe(other);
  });

  test("is not taken when it cannot serve, was not heard of lately, or is gone", async () => {
    for (const why of ["score", "silent", "gone"]) {
      const { world, mine, other } = await promise(why === "silent" ? 600 : 0);
      if (why === "score") mine.score = Infinity;
      if (why === "gone") world.pool.lost(mine, "lost");
      expect([why, world.ask().backend]).toEqual([why, other]);
    }
  });

  test("is checked rather than another, where all must be", async () => {
    const { world, mine } = await promise();
    await world.advance(600);
    const client = world.ask();
    await world.checking[0]!.resolve(true);
    expect(client.backend).toBe(mine);
  });
});

describe("a spare backend", () => {
  test("is opened in advance, one at a time, up to the last but one of what may be", async () => {
    const world = new World({ maxConnections: 3 });
    for (let i = 0; i < 2; i++) {
      world.pool.spare("a");
      world.pool.spare("a");
      expect(world.dialing).toHaveLength(1);
      await world.connect();
    }
    world.pool.spare("a");
    expect([world.dialing.length, world.pool.stats().idle]).toEqual([0, 2]);
    expect(world.pool.idle()).toMatchObject({ room: true });
    expect(world.pool.idle().backends.length).toBe(2);
  });

  test("goes to who seeks it", async () => {
    const world = new World({ maxConnections: 4 });
    world.pool.spare("a");
    const client = world.ask();
    await world.connect();
    expect(client.backend).toBeDefined();
  });
});

test("a backend whose score has changed by itself goes to who seeks it", async () => {
  const world = new World({ maxConnections: 2 });
  const first = await world.lend();
  const backend = first.backend!;
  backend.score = Infinity;
  world.release(first);
  const second = world.ask();
  expect([second.waiting, world.dialing.length]).toEqual([true, 1]);
  backend.score = 0;
  world.pool.reconsider();
  expect(second.backend).toBe(backend);
});
