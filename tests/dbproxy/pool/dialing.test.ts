import { describe, expect, test } from "bun:test";
import { CoreError } from "../../../core/error.ts";
import { flush, unreachable, World } from "./world.ts";

const denied = Object.assign(new CoreError("DB_REFUSED", "Access denied"), { final: true });
const tooMany = new CoreError("DB_REFUSED", "Too many connections");

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
