import { expect, test } from "bun:test";
import { Life } from "../../../plugins/php/worker/life.ts";
import { seeded } from "../../support/seeded.ts";
import { World, worldOf } from "./world.ts";

/** Every worker boots in `ms`, and ends when it is told to. */
function booting(world: World, ms: number): World {
  world.onLaunch = (worker) => void world.clock.after(ms, () => worker.killed || worker.gone || worker.ready());
  world.pool.start();
  world.clock.advance(ms * 2);
  return world;
}

test("max_requests: the successor is up first, no two at once, and no worker gets more than the cap", () => {
  for (let seed = 1; seed <= 40; seed++) {
    const world = booting(new World({ size: 4, maxRequests: 50, random: seeded(seed) }), 100);
    const stops: number[] = [];
    const seen = new Set<number>();
    let fewest = 4;
    for (let n = 0; n < 1000; n++) {
      world.serve();
      world.clock.advance(10);
      fewest = Math.min(fewest, world.pool.alive);
      for (const worker of world.workers) {
        if (worker.stops === 0 || seen.has(worker.pid)) continue;
        seen.add(worker.pid);
        stops.push(world.clock.now());
      }
      world.reap();
      expect(world.pool.processes <= 5).toBe(true);
    }
    const sends = world.all.map((worker) => worker.sends);
    expect([Math.max(...sends) <= 50, fewest, stops.length > 15]).toEqual([true, 4, true]);
    expect(stops.every((time, i) => i === 0 || time - stops[i - 1]! >= 100)).toBe(true);
    expect(world.pool.restarts).toEqual({ max_requests: stops.length });
    // After the first lives, which differ on purpose, each answers nearly as many as it may: the earliest is due at its 40th, so has 39.
    const whole = world.all.slice(4).filter((worker) => worker.gone).map((worker) => worker.sends);
    expect([whole.length > 0, Math.min(...whole) >= 39]).toEqual([true, true]);
  }
});

test("a worker at its cap waits for no successor while others work", () => {
  const world = worldOf({ size: 2, maxRequests: 10 });
  const served = Array.from({ length: 19 }, () => world.serve());
  const ended = world.all.filter((worker) => worker.stops > 0);
  expect(ended.length).toBe(1);
  // The one that is left goes on past its cap, until the other's successor is up.
  for (let n = 0; n < 5; n++) served.push(world.serve());
  expect(new Set(served.slice(-5)).size).toBe(1);
  world.bringUp();
  expect(world.all.filter((worker) => worker.stops === 0 && !worker.gone).length).toBeGreaterThan(0);
});

for (const atWork of [false, true]) {
  test(`a worker that went on past its cap, ${atWork ? "at work" : "idle"} now, ends once another can stand in`, () => {
    const world = new World({ size: 2, maxRequests: 4 });
    world.pool.start();
    const [first, second] = world.booting;
    first!.ready();
    for (let n = 0; n < 6; n++) world.serve();
    const lease = atWork ? world.pool.checkout()! : undefined;
    const heard = lease && world.send(lease);
    second!.ready();
    expect(first!.stops).toBe(atWork ? 0 : 1);
    if (heard !== undefined) heard.onFinal = () => lease!.done();
    if (atWork) first!.answer();
    expect([first!.stops, world.serve()]).toEqual([1, second!.pid]);
    expect(world.pool.restarts).toEqual({ max_requests: 1 });
  });
}

test("no worker ends for its cap while none boots: one that works is worth more", () => {
  const world = worldOf({ size: 2, maxRequests: 5 });
  for (let n = 0; n < 60; n++) {
    for (const worker of world.booting) worker.exit(255);
    world.clock.advance(1000);
    world.serve();
  }
  expect([world.pool.alive > 0, world.pool.bootFailures > 0]).toEqual([true, true]);
});

test("a request for each worker: the next is ready before it is needed", () => {
  const world = new World({ size: 2, maxRequests: 1, spares: 1 });
  world.pool.start();
  world.bringUp();
  expect([world.pool.alive, world.pool.size]).toEqual([3, 2]);
  const served: number[] = [];
  for (let n = 0; n < 50; n++) {
    const lease = world.pool.checkout()!;
    let free = 0;
    const heard = world.send(lease);
    heard.onFinal = () => lease.done(() => free++);
    world.of(lease.pid).print();
    world.of(lease.pid).end();
    expect(free).toBe(1); // the spare is there
    world.of(lease.pid).exit(0);
    served.push(lease.pid);
    world.bringUp();
    expect(world.pool.processes).toBe(3);
  }
  expect(new Set(served).size).toBe(50);
  expect([world.crashes.length, world.pool.restarts]).toEqual([0, { max_requests: 50 }]);
});

test("ttl: an old worker is replaced, the new one first", () => {
  const world = worldOf({ size: 1, ttl: 60_000 });
  world.clock.advance(59_999);
  expect(world.booting.length).toBe(0);
  world.clock.advance(1);
  expect([world.booting.length, world.serve()]).toEqual([1, 1]);
  world.bringUp();
  expect([world.serve(), world.restarts]).toEqual([2, ["ttl"]]);
});

test("idle_ttl: a worker that was used and then was not is replaced; one that never was is fresh", () => {
  const world = worldOf({ size: 2, idleTtl: 5000 });
  world.clock.advance(20_000);
  expect(world.all.length).toBe(2);
  const used = world.serve();
  world.clock.advance(5000);
  world.bringUp();
  expect([world.of(used).gone, world.pool.alive, world.restarts]).toEqual([true, 2, ["idle"]]);
  world.clock.advance(60_000);
  expect(world.all.length).toBe(3);
});

test("max_memory: looked at between requests and not at each, never in the middle of one", () => {
  let looks = 0;
  const world: World = new World({
    size: 1,
    maxMemory: 100,
    memoryEvery: 1000,
    inspect: (pid) => {
      looks++;
      return world.of(pid).look;
    },
  });
  world.pool.start();
  world.bringUp();
  for (let n = 0; n < 50; n++) world.serve();
  expect(looks).toBe(1);
  world.bringUp();
  const again = worldOf({ size: 1, maxMemory: 1000, inspect: (pid) => again.of(pid).look });
  const lease = again.pool.checkout()!;
  const heard = again.send(lease);
  heard.onFinal = () => lease.done();
  const worker = again.of(1);
  worker.look = { rss: 5000, stopped: false };
  again.clock.advance(10_000);
  expect(worker.killed).toBe(false);
  worker.answer();
  expect([heard.text, again.booting.length]).toEqual([heard.id, 1]);
  again.bringUp();
  expect([worker.gone, again.restarts, again.crashes]).toEqual([true, ["memory"], []]);
});

test("an idle worker that grows is replaced too, and ended over hard_memory", () => {
  const world: World = worldOf({ size: 2, maxMemory: 3000, hardMemory: 9000, inspect: (pid) => world.of(pid).look });
  const [one, two] = [world.serve(), world.serve()].map((pid) => world.of(pid));
  world.clock.advance(20_000);
  expect(world.all.length).toBe(2);
  const grown = one!;
  grown.look = { rss: 5000, stopped: false };
  world.clock.advance(6000);
  expect(world.booting.length).toBe(1);
  world.bringUp();
  expect([grown.gone, world.restarts, world.crashes]).toEqual([true, ["memory"], []]);
  const other = two === grown ? [...world.workers][0]! : two!;
  other.look = { rss: 10_000, stopped: false };
  world.clock.advance(6000);
  expect(other.killed).toBe(true);
  world.reap();
  expect(world.crashes.map(({ reason, running }) => [reason, running])).toEqual([["memory", false]]);
});

test("hard_memory: a worker that takes too much is ended in the middle of its request", () => {
  const world: World = worldOf({ size: 1, hardMemory: 2 ** 20, inspect: (pid) => world.of(pid).look });
  const lease = world.pool.checkout()!;
  const heard = world.send(lease);
  world.clock.advance(1000);
  world.of(1).look = { rss: 3 * 2 ** 20, stopped: false };
  world.clock.advance(250);
  expect([heard.error?.code, heard.error?.status, heard.progress]).toEqual(["PHP_WORKER_MEMORY", 502, "touched"]);
  world.reap();
  expect(world.crashes.map(({ reason, running }) => [reason, running])).toEqual([["memory", true]]);
});

test("a stopped process is found when it is lent, or at work, and replaced", () => {
  const world: World = worldOf({ size: 2, inspect: (pid) => world.of(pid).look });
  world.serve();
  world.serve();
  world.clock.advance(2000);
  world.of(1).look = { rss: 1, stopped: true };
  const lease = world.pool.checkout()!;
  expect([lease.pid, world.of(1).killed]).toEqual([2, true]);
  const heard = world.send(lease);
  world.of(2).look = { rss: 1, stopped: true };
  world.clock.advance(250);
  expect([heard.error?.code, heard.progress, world.of(2).killed]).toEqual(["PHP_WORKER_STUCK", "untouched", true]);
  lease.done();
  world.bringUp();
  expect([world.pool.alive, world.restarts]).toEqual([2, ["stuck", "stuck"]]);
});

test("a life's limits: due a tenth to a fifth before the cap, which holds", () => {
  const facts = { readyAt: 0, bootMs: 0, requests: 0, idleSince: 0 };
  for (const chance of [0, 0.5, 0.999]) {
    const life = new Life({ maxRequests: 500 }, 1, chance);
    const first = Array.from({ length: 600 }, (_, n) => n).find((requests) =>
      life.nearsEnd({ ...facts, requests }, 1e9)
    )!;
    expect([first + 1 >= 400, first + 1 <= 450, life.hard]).toEqual([true, true, 500]);
  }
  const one = new Life({ maxRequests: 1 }, 1, 0.5);
  expect([one.hard, one.nearsEnd(facts, 0)]).toEqual([1, true]);
  const quick = new Life({ maxRequests: 500 }, 1, 0);
  // 400 requests in 400 ms, a boot of 60 ms: the successor must begin 60 requests before.
  expect(quick.nearsEnd({ ...facts, requests: 388, bootMs: 60 }, 388)).toBe(false);
  expect(quick.nearsEnd({ ...facts, requests: 390, bootMs: 60 }, 390)).toBe(true);
  const none = new Life({}, 1, 0);
  expect([none.hard, none.dueAt(facts), none.due(facts, 1e12, () => 1e12)]).toEqual([Infinity, Infinity, undefined]);
});
