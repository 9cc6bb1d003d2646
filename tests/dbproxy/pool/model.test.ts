import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { type Client, flush, unreachable, World } from "./world.ts";

type Inside = { readonly op: "release" | "cancel" | "ask" | "nothing"; readonly n: number };
type Op =
  | { readonly op: "ask"; readonly kind: string; readonly patience: number; readonly inside: Inside }
  | { readonly op: "cancel" | "release" | "discard" | "lost" | "tick"; readonly n: number }
  | { readonly op: "dial"; readonly n: number; readonly end: "ok" | "final" | "busy" | "unreachable" }
  | { readonly op: "check" | "clean"; readonly n: number; readonly end: "ok" | "no" | "throws" }
  | { readonly op: "late"; readonly n: number }
  | { readonly op: "slow"; readonly on: boolean };

const n = fc.nat(20);
const kind = fc.constantFrom("a", "a", "a", "b", "c");
const inside: fc.Arbitrary<Inside> = fc.record({
  op: fc.constantFrom("nothing", "nothing", "nothing", "release", "cancel", "ask"),
  n,
});
const op: fc.Arbitrary<Op> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      op: fc.constant("ask" as const),
      kind,
      patience: fc.constantFrom(Infinity, Infinity, 0, 30, 400),
      inside,
    }),
  },
  {
    weight: 10,
    arbitrary: fc.record({ op: fc.constantFrom("release" as const, "release", "discard", "cancel", "lost"), n }),
  },
  {
    weight: 9,
    arbitrary: fc.record({
      op: fc.constant("dial" as const),
      n,
      end: fc.constantFrom("ok" as const, "ok", "ok", "final", "busy", "unreachable"),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      op: fc.constantFrom("check" as const, "clean"),
      n,
      end: fc.constantFrom("ok" as const, "ok", "no", "throws"),
    }),
  },
  { weight: 1, arbitrary: fc.record({ op: fc.constant("late" as const), n }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant("slow" as const), on: fc.boolean() }) },
  {
    weight: 5,
    arbitrary: fc.record({ op: fc.constant("tick" as const), n: fc.constantFrom(1, 12, 40, 260, 600, 1_100, 5_100) }),
  },
);
const setup = fc.record({
  maxConnections: fc.integer({ min: 1, max: 4 }),
  minConnections: fc.nat(2),
  maxQueue: fc.constantFrom(1_000, 1_000, 2),
  dialRate: fc.constantFrom(50, 1_000_000),
  breakerFailures: fc.constantFrom(3, 10),
  poolTimeoutMs: fc.constantFrom(0, 5_000, 60_000),
  idleTimeoutMs: fc.constantFrom(700, 300_000, Infinity),
  maxLifetimeMs: fc.constantFrom(1_500, 1_800_000, Infinity),
});

const failures = {
  final: Object.assign(new Error("denied"), { final: true }),
  busy: Object.assign(new Error("too many"), { code: "DB_REFUSED" }),
  unreachable,
};

function pick<T>(list: readonly T[], n: number): T | undefined {
  return list[n % list.length];
}

const holders = (world: World) => world.clients.filter((client) => client.backend?.client === client);

/** Those who can cancel: who is told within another's call to ask has nothing to cancel with until that returns. */
const leavers = (world: World) => world.clients.filter(({ waiting, checkout }) => waiting && checkout !== undefined);

function within(world: World, client: Client, { op, n }: Inside): void {
  if (op === "release" && client.backend?.client === client) world.release(client);
  else if (op === "cancel") pick(leavers(world), n)?.cancel();
  else if (op === "ask" && world.clients.length < 200) world.ask(n % 2 === 0 ? "a" : "b");
}

async function play(world: World, op: Op): Promise<void> {
  if (op.op === "ask") {
    world.ask(op.kind, world.clock.time + op.patience, (client) => within(world, client, op.inside));
  } else if (op.op === "cancel") pick(leavers(world), op.n)?.cancel();
  else if (op.op === "tick") await world.advance(op.n);
  else if (op.op === "slow") world.clean = !op.on;
  else if (op.op === "lost") {
    const backend = pick([...world.open], op.n);
    if (backend !== undefined) world.pool.lost(backend, "lost");
  } else if (op.op === "dial") {
    const dial = pick(world.dialing, op.n);
    if (dial !== undefined) await (op.end === "ok" ? world.connect(dial) : dial.reject(failures[op.end]));
  } else if (op.op === "late") {
    const dial = pick(world.dials.filter(({ aborted, settled }) => aborted && !settled), op.n);
    if (dial !== undefined) {
      await world.connect(dial);
      expect(dial.backend.closed).toBe("late");
    }
  } else if (op.op === "check" || op.op === "clean") {
    const step = pick(op.op === "check" ? world.checking : world.cleaning, op.n);
    await (op.end === "throws" ? step?.reject(new Error("broken")) : step?.resolve(op.end === "ok"));
  } else {
    const client = pick(holders(world), op.n);
    if (client !== undefined) world[op.op](client);
  }
  await flush();
  world.check();
}

/** From here on everything goes well: whoever waits is served or refused, and everything comes back. */
async function settle(world: World): Promise<void> {
  world.clean = true;
  for (let round = 0; round < 400; round++) {
    for (const dial of world.dialing) await world.connect(dial);
    for (const step of [...world.checking, ...world.cleaning]) await step.resolve(true);
    for (const client of holders(world)) world.release(client);
    await flush();
    world.check();
    if (!world.clients.some(({ waiting }) => waiting)) break;
    await world.advance(5);
  }
  expect(world.clients.filter(({ waiting }) => waiting).map(({ id }) => id)).toEqual([]);
}

describe("the pool", () => {
  test("leaks no permit, passes nobody, lends nothing twice and wakes everybody, whatever fails and whoever leaves", async () => {
    await fc.assert(
      fc.asyncProperty(setup, fc.array(op, { maxLength: 70, size: "max" }), async (options, ops) => {
        const world = new World(options);
        for (const op of ops) await play(world, op);
        await settle(world);
        const drained = world.pool.drain();
        for (const client of holders(world)) world.release(client);
        for (const step of [...world.checking, ...world.cleaning]) await step.resolve(true);
        await drained;
        expect([world.open.size, world.gate.used, world.gate.queued, world.dialing.length]).toEqual([0, 0, 0, 0]);
        await world.advance(10_000_000);
        expect(world.clock.live).toBe(0);
      }),
      { numRuns: 300 },
    );
  });

  test("ends at once when it is closed, at any point", async () => {
    await fc.assert(
      fc.asyncProperty(setup, fc.array(op, { maxLength: 40, size: "max" }), async (options, ops) => {
        const world = new World(options);
        for (const op of ops) await play(world, op);
        world.pool.close();
        world.check();
        expect(world.clients.filter(({ waiting }) => waiting)).toEqual([]);
        expect([world.gate.used, world.open.size, world.dialing.length]).toEqual([
          holders(world).length,
          holders(world).length,
          0,
        ]);
        const drained = world.pool.drain();
        for (const client of holders(world)) world.release(client);
        await drained;
        expect([world.open.size, world.gate.used]).toEqual([0, 0]);
      }),
      { numRuns: 300 },
    );
  });
});
