import { expect, test } from "bun:test";
import { World } from "./world.ts";

/** Every worker boots in 100 ms. */
function scaled(size: number, max: number): { world: World; line: { queued: number; waitMs: number } } {
  const line = { queued: 0, waitMs: 0 };
  const world = new World({ size, scale: { max, line: () => line, downAfter: 10_000 } });
  world.onLaunch = (worker) => void world.clock.after(100, () => worker.ready());
  world.pool.start();
  world.clock.advance(200);
  return { world, line };
}

test("the pool grows while requests wait, the gate only when the new worker is ready", () => {
  const { world, line } = scaled(1, 4);
  world.send(world.pool.checkout()!, 1e9);
  Object.assign(line, { queued: 19, waitMs: 60 });
  world.clock.advance(60);
  expect([world.booting.length, world.pool.size, world.sizes]).toEqual([1, 2, []]);
  world.clock.advance(100);
  expect([world.pool.alive, world.sizes]).toEqual([2, [2]]);
  for (let n = 0; n < 20; n++) {
    const lease = world.pool.checkout();
    if (lease !== undefined) world.send(lease, 1e9);
    world.clock.advance(100);
  }
  expect([world.pool.size, world.pool.alive, world.sizes]).toEqual([4, 4, [2, 3, 4]]);
});

test("a wait that is short, or over at the next look, grows nothing; and an idle pool has no timers", () => {
  const { world, line } = scaled(1, 4);
  world.clock.advance(2000);
  expect(world.clock.pending).toBe(0);
  const lease = world.pool.checkout()!;
  const heard = world.send(lease, 1e9);
  heard.onFinal = () => lease.done();
  Object.assign(line, { queued: 1, waitMs: 40 });
  world.clock.advance(1000);
  Object.assign(line, { queued: 1, waitMs: 70 });
  world.clock.advance(25);
  Object.assign(line, { queued: 0, waitMs: 0 });
  world.clock.advance(1000);
  world.of(lease.pid).answer();
  world.clock.advance(1000);
  expect([world.pool.size, world.all.length]).toEqual([1, 1]);
});

test("workers that were not needed are stopped, the gate told first", () => {
  const { world, line } = scaled(1, 4);
  world.pool.resize(1);
  const leases = [world.pool.checkout()!];
  const heard = [world.send(leases[0]!, 1e9)];
  Object.assign(line, { queued: 5, waitMs: 60 });
  world.clock.advance(1000);
  for (let lease = world.pool.checkout(); lease !== undefined; lease = world.pool.checkout()) {
    leases.push(lease);
    heard.push(world.send(lease, 1e9));
    world.clock.advance(1000);
  }
  expect(world.pool.size).toBe(4);
  Object.assign(line, { queued: 0, waitMs: 0 });
  leases.forEach((lease, i) => {
    heard[i]!.onFinal = () => lease.done();
    world.of(lease.pid).answer();
  });
  world.clock.advance(25_000);
  expect([world.pool.size, world.sizes.at(-1), world.pool.alive]).toEqual([1, 1, 1]);
  world.reap();
  world.clock.advance(20_000);
  expect([world.pool.processes, world.clock.pending, world.pool.restarts]).toEqual([1, 0, { idle: 3 }]);
});
