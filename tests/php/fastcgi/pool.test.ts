import { expect, test } from "bun:test";
import type { CoreError } from "../../../core/error.ts";
import type { Lease } from "../../../plugins/php/fastcgi/lease.ts";
import { Answer, settle } from "./support.ts";
import { World, worldOf } from "./world.ts";

function waiter(): {
  lease: Lease | undefined;
  refused: CoreError | undefined;
  onLease(l: Lease): void;
  onRefuse(e: CoreError): void;
} {
  const made = {
    lease: undefined as Lease | undefined,
    refused: undefined as CoreError | undefined,
    onLease: (lease: Lease) => void (made.lease = lease),
    onRefuse: (error: CoreError) => void (made.refused = error),
  };
  return made;
}

test("one connection a child, and the child idle for longest is lent first", async () => {
  const { pool, connects } = await worldOf({ size: 3 });
  expect([pool.alive, pool.busy, connects]).toEqual([3, 0, 3]);
  const [a, b, c] = [pool.checkout()!, pool.checkout()!, pool.checkout()!];
  expect(new Set([a.pid, b.pid, c.pid]).size).toBe(3);
  expect([pool.busy, pool.checkout()]).toEqual([3, undefined]);
  b.done();
  c.done();
  expect(pool.checkout()!.pid).toBe(b.pid);
  expect(pool.executions).toBe(2);
});

test("the children that have been greeted are listed with their state, their requests and their age", async () => {
  const world = await worldOf({ size: 3 });
  const [first, second] = [world.pool.checkout()!, world.pool.checkout()!];
  first.done();
  world.clock.advance(2_500);
  const { pool } = world;
  expect(pool.rows().map(({ state, requests }) => [state, requests])).toEqual([["idle", 1], ["busy", 1], ["idle", 0]]);
  expect(pool.rows().map(({ pid }) => pid).slice(0, 2)).toEqual([first.pid, second.pid]);
  second.kill("killed");
  expect(pool.rows().map(({ age }) => age)).toEqual([2_500, 2_500]);
  await world.bringUp();
  expect(pool.rows()[1]).toEqual({ pid: 104, state: "idle", requests: 0, age: 0 });
});

test("a lease sends, and reads through its child's connection", async () => {
  const world = await worldOf({ size: 1 });
  const lease = world.pool.checkout()!;
  const answer = new Answer();
  lease.send({ params: [] }, answer);
  const socket = world.socketOf(lease.pid);
  lease.pause();
  expect(socket.paused).toBe(true);
  lease.resume();
  socket.answer("page");
  expect([answer.stdout, socket.paused]).toEqual(["page", false]);
  let free = 0;
  lease.done(() => free++);
  expect(free).toBe(1);
});

test("a lease that is over does nothing to the next holder of its child", async () => {
  const world = await worldOf({ size: 1 });
  const old = world.pool.checkout()!;
  old.done();
  const next = world.pool.checkout()!;
  let free = 0;
  old.done(() => free++);
  old.kill("killed", () => free++);
  const answer = new Answer();
  old.send({ params: [] }, answer);
  expect([free, answer.progress, next.alive, world.pool.busy, world.killed]).toEqual([0, "unsent", true, 1, []]);
  next.kill("killed");
  await world.bringUp();
  expect(free).toBe(0);
});

test("waiters are served in order, and one that left is passed over", async () => {
  const { pool } = await worldOf({ size: 1 });
  const lease = pool.checkout()!;
  const [a, b, c] = [waiter(), waiter(), waiter()];
  for (const one of [a, b, c]) pool.wait(one);
  expect(pool.cancel(b)).toBe(true);
  expect(pool.cancel(b)).toBe(false);
  lease.done();
  expect([a.lease?.alive, b.lease, c.lease]).toEqual([true, undefined, undefined]);
  expect(pool.cancel(a)).toBe(false);
  a.lease!.done();
  expect([b.lease, c.lease?.alive]).toEqual([undefined, true]);
  c.lease!.done();
  const late = waiter();
  pool.wait(late);
  expect(late.lease?.alive).toBe(true);
});

test("a waiter has the new child before whoever asks for an idle one", async () => {
  const world = await worldOf({ size: 1 });
  const lease = world.pool.checkout()!;
  const next = waiter();
  world.pool.wait(next);
  const seen: unknown[] = [];
  lease.kill("timeout", () => seen.push(next.lease?.pid, world.pool.checkout()));
  expect(next.lease).toBe(undefined);
  await world.bringUp();
  expect(seen).toEqual([102, undefined]);
});

test("a killed child is free when its successor is greeted, or when it is known to be gone", async () => {
  for (const told of [false, true]) {
    const world = await worldOf({ size: 1 });
    const lease = world.pool.checkout()!;
    const answer = new Answer();
    lease.send({ params: [] }, answer);
    let free = 0;
    lease.kill("timeout", () => free++);
    expect(world.killed).toEqual([{ pid: 101, reason: "timeout" }]);
    expect([world.killedFirst, answer.finals, lease.alive, world.pool.alive, free]).toEqual([true, 0, false, 0, 0]);
    if (told) {
      world.pool.childGone(55);
      expect(free).toBe(0);
      world.pool.childGone(101);
      expect(free).toBe(1);
    }
    await world.bringUp();
    expect([free, world.pool.restarts.timeout, world.pool.alive]).toEqual([1, 1, 1]);
  }
});

test("a child that dies at work frees its place when the next one is up, whenever its holder says that it is done", async () => {
  for (const early of [true, false]) {
    const world = await worldOf({ size: 1 });
    const lease = world.pool.checkout()!;
    const answer = new Answer();
    lease.send({ params: [] }, answer);
    world.socketOf(lease.pid).emit("end");
    expect([answer.error?.code, lease.alive, world.pool.restarts.died]).toEqual(["PHP_CHILD_DIED", false, 1]);
    let free = 0;
    if (early) lease.done(() => free++);
    expect(free).toBe(0);
    await world.bringUp();
    if (!early) lease.done(() => free++);
    expect([free, world.killed, world.pool.executions]).toEqual([1, [], 0]);
  }
});

test("a child whose request failed on our side is killed before its connection closes", async () => {
  const world = await worldOf({ size: 1 });
  const lease = world.pool.checkout()!;
  const answer = new Answer();
  const body = new ReadableStream<Uint8Array>({ start: (controller) => controller.close() });
  lease.send({ params: [], body: { length: 5, stream: body } }, answer);
  await answer.over;
  expect([answer.error?.code, world.killedFirst, world.pool.restarts.killed]).toEqual(["PHP_BODY_SHORT", true, 1]);
  expect(world.killed).toEqual([{ pid: 101, reason: "killed" }]);
});

test("giving back a child in the middle of a request kills it", async () => {
  const world = await worldOf({ size: 1 });
  const lease = world.pool.checkout()!;
  lease.send({ params: [] }, new Answer());
  let free = 0;
  lease.done(() => free++);
  expect([world.killed.length, free, world.pool.alive]).toEqual([1, 0, 0]);
  await world.bringUp();
  expect(free).toBe(1);
});

test("a lost child is followed at once, and then by pauses of 10 ms doubling to 1 s", async () => {
  const world = await worldOf({ size: 1 });
  world.pool.checkout()!.done();
  world.socketOf(101).emit("end");
  expect(world.attempts.size).toBe(1);
  const pauses: number[] = [];
  for (let i = 0; i < 9; i++) {
    for (const attempt of world.attempts) attempt.refuse(new Error("ECONNREFUSED"));
    await settle();
    expect(world.attempts.size).toBe(0);
    pauses.push(world.clock.next!);
    world.clock.advance(world.clock.next!);
    expect(world.attempts.size).toBe(1);
  }
  expect(pauses).toEqual([10, 20, 40, 80, 160, 320, 640, 1000, 1000]);
  expect(world.pool.problem()).toBe("Cannot greet PHP: ECONNREFUSED");
  await world.bringUp();
  expect([world.pool.problem(), world.clock.pending]).toEqual([undefined, 0]);
  world.pool.checkout()!.done();
  world.children[0]!.emit("end");
  expect(world.attempts.size).toBe(1);
});

test("a child that dies idle and unused is not followed without a pause", async () => {
  const world = await worldOf({ size: 1 });
  world.children[0]!.emit("end");
  expect([world.attempts.size, world.clock.next]).toEqual([0, 10]);
  await world.bringUp();
  world.children[0]!.emit("end");
  expect(world.clock.next).toBe(20);
  await world.bringUp();
  world.clock.advance(1000);
  world.children[0]!.emit("end");
  expect(world.attempts.size).toBe(1);
});

test("a child that dies before it has greeted is a failed attempt", async () => {
  const world = new World({ size: 1 });
  world.pool.start();
  for (const attempt of world.attempts) attempt.accept();
  await settle();
  world.ungreeted[0]!.emit("end");
  await settle();
  expect([world.clock.next, world.open, world.pool.restarts.died]).toEqual([10, 0, 0]);
  expect(world.pool.problem()?.startsWith("The PHP process closed its connection")).toBe(true);
});

test("a socket that comes after its attempt was given up is closed", async () => {
  const world = new World({ size: 2 });
  world.pool.start();
  for (const attempt of world.attempts) attempt.accept();
  world.pool.resize(1);
  await settle();
  expect(world.open).toBe(1);
});

test("a lost connection is closed before the next is opened", async () => {
  const world = await worldOf({ size: 1 });
  world.pool.checkout()!.done();
  world.children[0]!.emit("end");
  expect([world.attempts.size, world.excess]).toEqual([1, 0]);
});

test("a greeting that leaves its request running is no greeting", async () => {
  const world = new World({
    size: 1,
    greet: (connection) => {
      connection.send({ params: [] }, new Answer());
      return Promise.resolve(7);
    },
  });
  world.pool.start();
  for (const attempt of world.attempts) attempt.accept();
  await settle();
  expect([world.pool.alive, world.open, world.clock.next]).toEqual([0, 0, 10]);
});

test("a greeting has its time, and must be a pid", async () => {
  const world = new World({ size: 1, greetTimeout: 500 });
  expect(world.pool.problem()).toBe("PHP is starting");
  world.pool.start();
  world.clock.advance(500);
  expect(world.pool.problem()).toBe("Expected PHP to answer a greeting within 500 ms");
  expect([world.open, world.clock.next]).toEqual([0, 10]);
  world.clock.advance(10);
  for (const attempt of world.attempts) attempt.accept();
  await settle();
  const [socket] = world.ungreeted;
  world.clock.advance(500);
  expect([socket!.destroyed, world.clock.next]).toEqual([true, 20]);
  world.clock.advance(20);
  for (const attempt of world.attempts) attempt.accept();
  await settle();
  world.ungreeted[0]!.answer("Status: 404 Not Found\r\n\r\nFile not found.\n");
  await settle();
  expect(world.pool.problem()).toBe('Expected PHP to answer a greeting with its process id, found "File not found."');
  expect([world.open, world.pool.alive]).toEqual([0, 0]);
  await world.bringUp();
  expect(world.pool.alive).toBe(1);
});

test("a child is replaced after max_requests, less its share of chance", async () => {
  for (const [random, requests] of [[0, 10], [0.5, 8], [0.999, 6]] as const) {
    const world = await worldOf({ size: 1, maxRequests: 10, jitter: 0.5, random: () => random });
    let free = 0;
    for (let i = 1; i <= requests; i++) {
      expect(world.killed).toEqual([]);
      world.pool.checkout()!.done(() => free++);
    }
    expect(world.killed).toEqual([{ pid: 101, reason: "max_requests" }]);
    expect([free, world.pool.restarts.max_requests, world.killedFirst]).toEqual([requests - 1, 1, true]);
    await world.bringUp();
    expect([free, world.pool.executions]).toEqual([requests, requests]);
  }
});

test("an answer before the whole body was sent costs the connection, not the child", async () => {
  const world = await worldOf({ size: 1 });
  const lease = world.pool.checkout()!;
  const answer = new Answer();
  lease.send({ params: [], body: { length: 5, stream: new ReadableStream() } }, answer);
  world.socketOf(lease.pid).answer("early");
  let free = 0;
  lease.done(() => free++);
  expect([answer.stdout, answer.appStatus, world.killed, free, world.attempts.size]).toEqual(["early", 0, [], 0, 1]);
  await world.bringUp();
  expect([free, world.pool.restarts]).toEqual([1, { died: 0, killed: 0, max_requests: 0, timeout: 0 }]);
});

test("a child that cannot be killed is reported, and replaced all the same", async () => {
  const world = await worldOf({
    size: 1,
    killChild: () => {
      throw new Error("EPERM");
    },
  });
  world.pool.checkout()!.kill("timeout");
  expect(world.pool.problem()).toBe("Cannot end the PHP process 101");
  await world.bringUp();
  expect(world.pool.alive).toBe(1);
});

test("the pool grows at once and shrinks as children come back", async () => {
  const world = await worldOf({ size: 2 });
  const { pool } = world;
  pool.resize(4);
  expect(world.attempts.size).toBe(2);
  await world.bringUp();
  expect(pool.alive).toBe(4);
  const [a, b, c] = [pool.checkout()!, pool.checkout()!, pool.checkout()!];
  pool.resize(1);
  expect([pool.alive, world.open]).toEqual([3, 3]);
  let free = 0;
  a.done(() => free++);
  b.kill("killed", () => free++);
  expect([pool.alive, world.open, free]).toEqual([1, 1, 2]);
  c.done();
  expect([pool.alive, pool.checkout()?.pid]).toEqual([1, c.pid]);
  expect(world.killed.length).toBe(1);
});

test("shrinking gives up attempts on their way", async () => {
  const world = new World({ size: 3 });
  world.pool.start();
  expect(world.attempts.size).toBe(3);
  world.pool.resize(1);
  expect(world.attempts.size).toBe(1);
  await world.bringUp();
  expect([world.pool.alive, world.clock.pending]).toEqual([1, 0]);
});

test("a graceful close waits for what is lent, and refuses who waits", async () => {
  const world = await worldOf({ size: 2 });
  const [a, b] = [world.pool.checkout()!, world.pool.checkout()!];
  const line = waiter();
  world.pool.wait(line);
  let closed = false;
  const over = world.pool.close(true).then(() => closed = true);
  expect([line.refused?.code, line.refused?.status]).toEqual(["PHP_POOL_CLOSED", 503]);
  const late = waiter();
  world.pool.wait(late);
  expect([late.refused?.code, world.pool.checkout()]).toEqual(["PHP_POOL_CLOSED", undefined]);
  a.done();
  await settle();
  expect([closed, world.open]).toEqual([false, 1]);
  const answer = new Answer();
  b.send({ params: [] }, answer);
  world.socketOf(b.pid).answer("last");
  b.done();
  await over;
  expect([answer.stdout, world.open, world.clock.pending, world.connects]).toEqual(["last", 0, 0, 2]);
});

test("a close that does not wait fails what runs", async () => {
  const world = await worldOf({ size: 2 });
  const lease = world.pool.checkout()!;
  const answer = new Answer();
  lease.send({ params: [] }, answer);
  const graceful = world.pool.close(true);
  await world.pool.close(false);
  await graceful;
  expect([answer.error?.code, answer.error?.status, world.open]).toEqual(["PHP_POOL_CLOSED", 503, 0]);
  let free = 0;
  lease.done(() => free++);
  expect([free, world.pool.problem()]).toEqual([1, "The PHP pool is closed"]);
});

test("hanging up closes the connection, kills nobody, and frees the place when the successor is greeted", async () => {
  const world = await worldOf({ size: 1 });
  const lease = world.pool.checkout()!;
  const answer = new Answer();
  lease.send({ params: [] }, answer);
  let free = 0;
  lease.hangUp(() => free++);
  lease.hangUp(() => free++);
  expect([free, world.killed, answer.stdout, world.pool.busy]).toEqual([0, [], "", 0]);
  await world.bringUp();
  expect([free, world.pool.alive, world.pool.restarts.died, world.excess]).toEqual([1, 1, 0, 0]);
});

test("hanging up on a child that has not got its whole body kills it", async () => {
  const world = await worldOf({ size: 1 });
  const lease = world.pool.checkout()!;
  const stream = new ReadableStream<Uint8Array>({ start: (c) => c.enqueue(new Uint8Array(10)) });
  lease.send({ params: [], body: { length: 20, stream } }, new Answer());
  await settle();
  let free = 0;
  lease.hangUp(() => free++);
  expect(world.killed).toEqual([{ pid: lease.pid, reason: "killed" }]);
  await world.bringUp();
  expect(free).toBe(1);
});
