import { describe, expect, test } from "bun:test";
import { unreachable, World } from "./world.ts";

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
