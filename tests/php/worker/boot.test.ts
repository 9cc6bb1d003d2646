import { expect, test } from "bun:test";
import { CoreError } from "../../../core/error.ts";
import { waiter, World, worldOf } from "./world.ts";

test("a boot script that throws is tried no more than ten times in ten seconds, and recovers when it is mended", () => {
  for (const size of [1, 2, 4, 8, 32]) {
    const world = new World({ size });
    let broken = true;
    world.onLaunch = (worker) =>
      void world.clock.after(20, () => {
        if (broken) worker.exit(255, null, "PHP Fatal error:  Uncaught Error in worker.php:3");
        else worker.ready();
      });
    world.pool.start();
    const early = waiter();
    world.pool.wait(early);
    world.clock.advance(10_000);
    expect(world.all.length <= 10).toBe(true);
    expect(world.crashes.length).toBe(world.all.length - world.workers.size);
    expect([early.refused?.code, early.refused?.status]).toEqual(["PHP_WORKER_BOOT", 503]);
    const text = "The PHP worker does not boot: exit code 255: PHP Fatal error:  Uncaught Error in worker.php:3";
    expect(world.pool.problem()).toBe(text);
    const late = waiter();
    world.pool.wait(late);
    expect(late.refused?.message).toBe(text);
    broken = false;
    world.clock.advance(14_000);
    expect([world.pool.problem(), world.pool.alive, world.pool.bootFailures]).toEqual([undefined, size, 0]);
  }
});

test("pauses between boots double up to ten seconds, and chance lengthens them by a fifth at most", () => {
  for (const chance of [0, 0.999]) {
    const world = new World({ size: 1, random: () => chance });
    const times: number[] = [];
    world.onLaunch = (worker) => {
      times.push(world.clock.now());
      world.clock.after(0, () => worker.exit(1));
    };
    world.pool.start();
    world.clock.advance(80_000);
    const pauses = times.slice(1, 10).map((time, i) => time - times[i]!);
    [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000].forEach((pause, i) => {
      expect(pauses[i]! >= pause && pauses[i]! <= pause * (1 + chance / 5) + 1).toBe(true);
    });
  }
});

test("while boots fail, only one worker at a time tries", () => {
  const world = new World({ size: 6 });
  world.pool.start();
  expect(world.booting.length).toBe(4); // of six: booting is work for the CPU
  for (const worker of world.booting) worker.exit(1);
  for (let n = 0; n < 5; n++) {
    world.clock.advance(20_000);
    expect(world.booting.length).toBe(1);
    world.booting[0]!.exit(1);
    expect(world.booting.length).toBe(0);
  }
  world.clock.advance(20_000);
  world.booting[0]!.ready();
  expect(world.booting.length).toBe(0); // it has not proved itself
  world.serve();
  expect(world.booting.length).toBe(4);
});

test("a worker that asks for no request in time is ended, and counts as a failed boot", () => {
  const world = new World({ size: 1, bootTimeout: 5000 });
  world.pool.start();
  world.clock.advance(4999);
  expect(world.all[0]!.killed).toBe(false);
  world.clock.advance(1);
  expect(world.all[0]!.killed).toBe(true);
  world.all[0]!.ready(); // too late
  expect(world.pool.alive).toBe(0);
  world.all[0]!.exit(null, "SIGKILL", "waiting for the database");
  expect(world.pool.problem()).toBe(
    "The PHP worker does not boot: it asked for no request within 5000 ms of its start: waiting for the database",
  );
  world.clock.advance(100);
  expect(world.all.length).toBe(2);
});

test("a worker that is ready and dies at once, again and again, is slowed down like one that does not boot", () => {
  const world = new World({ size: 2 });
  world.onLaunch = (worker) =>
    void world.clock.after(5, () => {
      worker.ready();
      worker.exit(0);
    });
  world.pool.start();
  world.clock.advance(10_000);
  expect(world.all.length <= 10).toBe(true);
  expect([world.pool.alive, world.pool.problem()]).toEqual([0, "The PHP worker does not boot: exit code 0"]);
});

test("workers that live for a second, or have answered, are replaced at once", () => {
  const world = worldOf({ size: 1 });
  world.clock.advance(1000);
  world.all[0]!.exit(null, "SIGKILL");
  expect(world.booting.length).toBe(1);
  world.bringUp();
  world.serve();
  world.all[1]!.exit(null, "SIGKILL");
  expect(world.booting.length).toBe(1);
});

test("a request that ends every worker costs each of its visits one, and no pause", () => {
  const world = worldOf({ size: 2 });
  for (let n = 0; n < 20; n++) {
    const lease = world.pool.checkout()!;
    const heard = world.send(lease);
    heard.onFinal = () => lease.done();
    world.of(lease.pid).exit(null, "SIGSEGV");
    expect(world.booting.length).toBe(1);
    world.bringUp();
  }
  expect([world.pool.alive, world.pool.bootFailures, world.pool.restarts]).toEqual([2, 0, { died: 20 }]);
});

test("a launch that throws is a failed boot", () => {
  const world = new World({
    size: 1,
    launch: () => {
      throw new Error("no such socket");
    },
  });
  world.pool.start();
  expect(world.pool.problem()).toBe("The PHP worker does not boot: it never ran: no such socket");
});

test("a connection that breaks before the first request is a failed boot, told with how the process ended", () => {
  const world = new World({ size: 1 });
  world.pool.start();
  world.all[0]!.events.onBroken(new CoreError("PHP_PROTOCOL", "Expected a hello, found 'Hello world'"));
  world.reap();
  expect(world.pool.problem()).toBe("The PHP worker does not boot: Expected a hello, found 'Hello world'");
  expect(world.restarts).toEqual(["boot_failed"]);
});

test("a process that cannot be ended is waited for no longer than some seconds", () => {
  const world = worldOf({ size: 1 });
  for (let n = 0; n < 2; n++) {
    const lease = world.pool.checkout()!;
    world.send(lease);
    lease.kill("timeout");
    for (const worker of world.booting) worker.ready();
  }
  // One more than the pool is large may exist; both places are taken by one that runs and one that does not end.
  expect([world.workers.size, world.pool.processes, world.pool.alive]).toEqual([2, 2, 0]);
  world.clock.advance(5000);
  for (const worker of world.booting) worker.ready();
  expect([world.pool.alive, world.serve()]).toEqual([1, 3]);
});
