import { describe, expect, test } from "bun:test";
import { type FakeBackend, flush, World } from "./world.ts";

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
