import { expect, test } from "bun:test";
import { settle } from "../fastcgi/support.ts";
import { World, worldOf } from "./world.ts";

/** What became of a promise. */
function outcome(promise: Promise<void>): { text: string } {
  const made = { text: "" };
  promise.then(() => made.text = "done", (error: Error) => made.text = error.message);
  return made;
}

test("workers are replaced one by one, new before old", async () => {
  const world = worldOf({ size: 3 });
  const told = outcome(world.pool.reload(world.launch("new")));
  for (let n = 1; n <= 3; n++) {
    expect([world.pool.alive, world.booting.length, world.pool.processes]).toEqual([3, 1, 4]);
    await settle();
    expect(told.text).toBe("");
    world.booting[0]!.ready();
    expect([...world.workers].filter((worker) => worker.stops > 0).length).toBe(1);
    world.reap();
  }
  await settle();
  expect([told.text, world.all.slice(3).every((one) => one.version === "new"), world.pool.restarts]).toEqual([
    "done",
    true,
    { reload: 3 },
  ]);
  expect([world.pool.alive, world.booting.length]).toEqual([3, 0]);
});

test("a script that does not boot leaves the old workers as they are", async () => {
  const world = worldOf({ size: 2 });
  world.onLaunch = (worker) => void world.clock.after(10, () => worker.exit(255, null, "Parse error"));
  const told = outcome(world.pool.reload(world.launch("broken")));
  world.clock.advance(5000);
  await settle();
  expect(told.text).toBe("The PHP worker does not boot: exit code 255: Parse error");
  expect([world.all.length, world.pool.alive, world.pool.problem()]).toEqual([5, 2, undefined]);
  // One of the old dies: it is replaced by its own kind.
  world.onLaunch = undefined;
  world.clock.advance(60_000);
  world.of(1).exit(null, "SIGKILL");
  world.bringUp();
  expect([world.all.at(-1)!.version, world.all.length, world.pool.alive]).toEqual(["old", 6, 2]);
});

test("a script that hangs while it boots is given up after one timeout", async () => {
  const world = worldOf({ size: 1, bootTimeout: 3000 });
  const told = outcome(world.pool.reload(world.launch("hangs")));
  world.clock.advance(3000);
  world.reap();
  await settle();
  expect([told.text.includes("3000 ms"), world.all.length, world.serve()]).toEqual([true, 2, 1]);
});

test("requests that run end on their old worker, and do not keep the reload waiting for ever", async () => {
  const world = worldOf({ size: 2, reloadPatience: 5000 });
  const leases = [world.pool.checkout()!, world.pool.checkout()!];
  const heard = leases.map((lease) => world.send(lease, 1e9));
  leases.forEach((lease, i) => heard[i]!.onFinal = () => lease.done());
  const told = outcome(world.pool.reload(world.launch("new")));
  world.booting[0]!.ready();
  world.clock.advance(4999);
  await settle();
  expect(told.text).toBe("");
  world.clock.advance(1);
  await settle();
  expect(told.text).toBe("done");
  world.of(1).answer();
  world.of(2).answer();
  world.bringUp();
  expect(heard.map((one) => one.text)).toEqual(["r1", "r2"]);
  expect([...world.workers].map((worker) => worker.version)).toEqual(["new", "new"]);
});

test("short requests go on while the pool is replaced, and none is answered by an old worker afterwards", async () => {
  const world = worldOf({ size: 2 });
  const told = outcome(world.pool.reload(world.launch("new")));
  for (let n = 0; told.text === ""; n++) {
    expect(n < 20).toBe(true);
    const lease = world.pool.checkout()!;
    const heard = world.send(lease);
    heard.onFinal = () => lease.done();
    for (const worker of world.booting) worker.ready();
    world.of(lease.pid).answer();
    world.reap();
    await settle();
  }
  for (let n = 0; n < 4; n++) expect(world.of(world.serve()).version).toBe("new");
});

test("reloads that come during one are done once, with the last script", async () => {
  const world = worldOf({ size: 1 });
  const told = ["a", "b", "c"].map((version) => outcome(world.pool.reload(world.launch(version))));
  world.booting[0]!.ready();
  await settle();
  expect(told.map((one) => one.text)).toEqual(["done", "", ""]);
  world.bringUp();
  await settle();
  expect(told.map((one) => one.text)).toEqual(["done", "done", "done"]);
  expect(world.all.map((worker) => worker.version)).toEqual(["old", "a", "c"]);
});

test("a reload mends a pool that has stopped trying", async () => {
  const world = new World({ size: 2 });
  world.onLaunch = (worker) => worker.version === "old" && void world.clock.after(1, () => worker.exit(1));
  world.pool.start();
  world.clock.advance(60_000);
  const told = outcome(world.pool.reload(world.launch("mended")));
  expect(world.booting.filter((worker) => worker.version === "mended").length).toBe(1);
  for (let n = 0; n < 3; n++) world.bringUp();
  await settle();
  expect([told.text, world.pool.alive, world.pool.problem()]).toEqual(["done", 2, undefined]);
});

test("closing ends a reload", async () => {
  const world = worldOf({ size: 1 });
  const told = [outcome(world.pool.reload(world.launch("a"))), outcome(world.pool.reload(world.launch("b")))];
  const over = world.pool.close(true);
  world.reap();
  await over;
  const late = outcome(world.pool.reload(world.launch("c")));
  await settle();
  const text = "The PHP pool is closing; try again";
  expect([...told, late].map((one) => one.text)).toEqual([text, text, text]);
  expect([world.workers.size, world.clock.pending]).toEqual([0, 0]);
});
