import { describe, expect, test } from "bun:test";
import { World } from "./world.ts";

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
