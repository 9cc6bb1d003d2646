import { expect, test } from "bun:test";
import { CoreError } from "../../../core/error.ts";
import { waiter, World, worldOf } from "./world.ts";

test("a worker answers one request after another, and the one idle for longest is lent", () => {
  const world = worldOf({ size: 2 });
  expect([world.pool.alive, world.pool.busy, world.pool.problem()]).toEqual([2, 0, undefined]);
  expect([world.serve(), world.serve(), world.serve()]).toEqual([1, 2, 1]);
  expect([world.pool.executions, world.pool.processes]).toEqual([3, 2]);
});

test("before the first worker is ready a request waits; waiters are served in order", () => {
  const world = new World({ size: 1 });
  world.pool.start();
  expect([world.pool.checkout(), world.pool.problem()]).toEqual([undefined, "PHP is starting"]);
  const [a, b, c] = [waiter(), waiter(), waiter()];
  for (const one of [a, b, c]) world.pool.wait(one);
  expect(world.pool.cancel(b)).toBe(true);
  world.bringUp();
  expect([a.lease?.alive, b.lease, c.lease]).toEqual([true, undefined, undefined]);
  a.lease!.done();
  expect(c.lease?.alive).toBe(true);
});

test("a permit comes back before done returns when the worker goes on", () => {
  const world = worldOf({ size: 1 });
  const lease = world.pool.checkout()!;
  const heard = world.send(lease);
  let free = 0;
  heard.onFinal = () => lease.done(() => free++);
  const worker = world.of(lease.pid);
  worker.print();
  worker.end();
  // As after fastcgi_finish_request: the response is whole, the worker is not free.
  expect([free, world.pool.busy, world.pool.checkout()]).toEqual([0, 1, undefined]);
  worker.ready();
  expect([free, world.pool.busy]).toEqual([1, 0]);
});

test("work behind the response is ended at the request's deadline", () => {
  const world = worldOf({ size: 1 });
  const lease = world.pool.checkout()!;
  const heard = world.send(lease, world.clock.now() + 2000);
  let free = 0;
  heard.onFinal = () => lease.done(() => free++);
  const worker = world.of(lease.pid);
  worker.end();
  world.clock.advance(1999);
  expect(worker.killed).toBe(false);
  world.clock.advance(1);
  expect([worker.killed, free, world.restarts]).toEqual([true, 0, ["timeout"]]);
  world.bringUp();
  expect([free, world.pool.alive, world.crashes]).toEqual([1, 1, []]);
});

test("after a timeout the permit waits for the successor, and nothing of the old worker is heard", () => {
  const world = worldOf({ size: 1 });
  const lease = world.pool.checkout()!;
  const heard = world.send(lease);
  const old = world.of(lease.pid);
  let free = 0;
  lease.kill("timeout", () => free++);
  heard.deaf = true;
  old.answer(); // too late
  expect([old.killed, free, world.booting.length, world.complaints]).toEqual([true, 0, 1, []]);
  world.booting[0]!.ready();
  expect([free, heard.text, world.pool.restarts, world.crashes.length]).toEqual([1, "", { timeout: 1 }, 0]);
});

test("a worker that dies fails its own request alone, is reported once, and is replaced", () => {
  const world = worldOf({ size: 2 });
  world.serve();
  world.serve();
  const lease = world.pool.checkout()!;
  const heard = world.send(lease);
  let free = 0;
  heard.onFinal = () => lease.done(() => free++);
  world.of(lease.pid).print();
  world.clock.advance(5000);
  world.of(lease.pid).exit(null, "SIGSEGV", "Segmentation fault");
  expect([heard.error?.code, heard.error?.status, heard.progress, free]).toEqual([
    "PHP_WORKER_DIED",
    502,
    "touched",
    0,
  ]);
  expect(world.crashes.map(({ pid, reason, exit, requests, lastTarget, running }) => [
    pid,
    reason,
    exit?.signal,
    exit?.lastWords,
    requests,
    lastTarget,
    running,
  ])).toEqual([[1, "died", "SIGSEGV", ["Segmentation fault"], 2, "/r3", true]]);
  expect(world.pool.alive).toBe(1);
  world.bringUp();
  expect([free, world.pool.alive]).toEqual([1, 2]);
});

test("a request that a worker may never have read can be sent again", () => {
  const world = worldOf({ size: 1 });
  world.serve();
  const lease = world.pool.checkout()!;
  const heard = world.send(lease);
  world.of(lease.pid).exit(null, "SIGKILL");
  expect(heard.progress).toBe("untouched");
  lease.done();
  world.bringUp();
  // Its first request is all a new worker has done: it has read it.
  const next = world.pool.checkout()!;
  const second = world.send(next);
  world.of(next.pid).exit(null, "SIGKILL");
  expect(second.progress).toBe("touched");
  const third = world.send(next);
  expect(third.progress).toBe("unsent");
});

test("a broken protocol ends the worker at once", () => {
  const world = worldOf({ size: 1 });
  const lease = world.pool.checkout()!;
  const heard = world.send(lease);
  const worker = world.of(lease.pid);
  worker.events.onBroken(new CoreError("PHP_PROTOCOL", "nonsense", { status: 502 }));
  expect([worker.killed, heard.error?.code, world.crashes.length]).toEqual([true, "PHP_PROTOCOL", 0]);
  worker.exit(null, "SIGKILL");
  expect(world.crashes.map((crash) => [crash.reason, crash.error?.message])).toEqual([["died", "nonsense"]]);
});

test("a worker that wants the next request before it has answered is broken", () => {
  const world = worldOf({ size: 1 });
  const lease = world.pool.checkout()!;
  const heard = world.send(lease);
  world.of(lease.pid).ready();
  expect([heard.error?.code, world.of(lease.pid).killed]).toEqual(["PHP_PROTOCOL", true]);
});

test("a request that cannot be written leaves the worker as it was", () => {
  const world = worldOf({ size: 1 });
  const lease = world.pool.checkout()!;
  world.of(lease.pid).throws = new CoreError("PHP_PARAMS_TOO_LARGE", "too large", { status: 431 });
  const heard = world.send(lease);
  expect([heard.error?.status, heard.progress]).toEqual([431, "unsent"]);
  lease.done();
  expect([world.serve(), world.restarts]).toEqual([1, []]);
});

test("a sink that throws fails its request; the rest of the answer is for nobody, and the worker is kept", () => {
  const world = worldOf({ size: 1 });
  const lease = world.pool.checkout()!;
  const heard = world.send(lease);
  heard.throws = new CoreError("PHP_HEAD_INVALID", "bad head", { status: 502 });
  heard.onFinal = () => lease.done();
  const worker = world.of(lease.pid);
  lease.pause();
  worker.print();
  expect([heard.error?.code, worker.cancels, worker.paused, world.pool.busy]).toEqual([
    "PHP_HEAD_INVALID",
    1,
    false,
    1,
  ]);
  worker.answer();
  expect([world.serve(), world.restarts]).toEqual([1, []]);
});

test("a client that leaves is told to the worker, which has until the deadline to end what nobody has seen", () => {
  const world = worldOf({ size: 1 });
  const lease = world.pool.checkout()!;
  const heard = world.send(lease, world.clock.now() + 10_000);
  let free = 0;
  lease.hangUp(() => free++);
  heard.deaf = true;
  const worker = world.of(lease.pid);
  world.clock.advance(9000);
  expect([worker.cancels, worker.killed, free]).toEqual([1, false, 0]);
  worker.answer();
  expect([free, world.restarts, world.serve(), world.complaints]).toEqual([1, [], 1, []]);
});

test("a stream whose client has left has a second", () => {
  const world = worldOf({ size: 1 });
  const lease = world.pool.checkout()!;
  world.send(lease);
  const worker = world.of(lease.pid);
  worker.print();
  lease.pause();
  lease.hangUp();
  expect(worker.paused).toBe(false);
  world.clock.advance(999);
  expect(worker.killed).toBe(false);
  world.clock.advance(1);
  worker.exit(null, "SIGKILL");
  expect([worker.killed, world.restarts, world.crashes]).toEqual([true, ["killed"], []]);
});

test("aborted streams are no crashes, even when the script ends by it", () => {
  const world = worldOf({ size: 1 });
  for (let n = 0; n < 200; n++) {
    const lease = world.pool.checkout()!;
    world.send(lease);
    world.of(lease.pid).print();
    lease.hangUp();
    if (n % 3 === 0) world.of(lease.pid).exit(255);
    else if (n % 3 === 1) world.of(lease.pid).answer();
    else world.clock.advance(1000);
    world.bringUp();
  }
  expect([world.crashes, world.pool.alive]).toEqual([[], 1]);
});

test("a worker that asks to be replaced goes on once it is ready, until its successor is up", () => {
  const world = worldOf({ size: 1 });
  const lease = world.pool.checkout()!;
  const heard = world.send(lease);
  heard.onFinal = () => lease.done();
  const old = world.of(lease.pid);
  old.events.onStopAsked();
  expect(world.booting.length).toBe(1);
  old.answer();
  expect([world.serve(), old.stops]).toEqual([1, 0]);
  world.booting[0]!.ready();
  expect([old.stops, world.serve(), world.restarts]).toEqual([1, 2, ["asked"]]);
});

test("exit() in a request is no crash", () => {
  const world = worldOf({ size: 1 });
  const lease = world.pool.checkout()!;
  const heard = world.send(lease);
  heard.onFinal = () => lease.done();
  const old = world.of(lease.pid);
  old.events.onStopAsked();
  old.print();
  old.end();
  old.exit(3);
  expect([heard.text, world.crashes, world.restarts]).toEqual([heard.id, [], ["asked"]]);
  world.bringUp();
  expect([world.pool.alive, world.serve()]).toEqual([1, 2]);
});

test("closing lets requests end, runs shutdown functions, and leaves neither process nor timer", async () => {
  const world = worldOf({ size: 3, stopGrace: 4000 });
  const lease = world.pool.checkout()!;
  const heard = world.send(lease);
  let free = 0;
  heard.onFinal = () => lease.done(() => free++);
  const [busy, idle, deaf] = [1, 2, 3].map((pid) => world.of(pid)) as [typeof world.all[0], ...typeof world.all];
  let closed = false;
  const over = world.pool.close(true).then(() => closed = true);
  expect([busy.stops, idle!.stops, deaf!.stops, world.pool.checkout()]).toEqual([0, 1, 1, undefined]);
  const late = waiter();
  world.pool.wait(late);
  expect(late.refused?.code).toBe("PHP_POOL_CLOSED");
  idle!.exit(0);
  world.clock.advance(4000);
  expect(deaf!.killed).toBe(true);
  deaf!.exit(null, "SIGKILL");
  busy.answer();
  expect([heard.text, free, busy.stops, closed]).toEqual([heard.id, 1, 1, false]);
  busy.exit(0);
  await over;
  expect([world.workers.size, world.clock.pending, world.crashes, world.restarts]).toEqual([0, 0, [], []]);
});

test("closing at once ends everything", async () => {
  const world = worldOf({ size: 2 });
  const lease = world.pool.checkout()!;
  const heard = world.send(lease);
  let free = 0;
  heard.onFinal = () => lease.done(() => free++);
  const over = world.pool.close(false);
  expect([heard.error?.code, heard.error?.status, free]).toEqual(["PHP_POOL_CLOSED", 503, 1]);
  world.reap();
  await over;
  expect([world.workers.size, world.clock.pending, world.crashes]).toEqual([0, 0, []]);
});

test("rows show each process and what it runs", () => {
  const world = worldOf({ size: 2, inspect: () => ({ rss: 42, stopped: false }) });
  world.clock.advance(100);
  const lease = world.pool.checkout()!;
  world.send(lease);
  expect(world.pool.rows()).toEqual([
    { pid: 1, state: "busy", due: undefined, requests: 1, uptime: 100, rss: 42, id: "r1", target: "/r1" },
    { pid: 2, state: "idle", due: undefined, requests: 0, uptime: 100, rss: 42, id: undefined, target: undefined },
  ]);
});
