import { expect, test } from "bun:test";
import * as fc from "fast-check";
import type { Lease } from "../../../plugins/php/fastcgi/lease.ts";
import type { LeaseWaiter } from "../../../plugins/php/fastcgi/pool.ts";
import { Answer, type FakeSocket, settle } from "./support.ts";
import { World } from "./world.ts";

interface Held {
  readonly lease: Lease;
  answer: Answer | undefined;
}

/** What the test believes, beside the real pool. */
class Model {
  readonly world: World;
  readonly held: Held[] = [];
  readonly line: LeaseWaiter[] = [];
  /** Waiters in the order they were served, with the number each drew. */
  readonly served: number[] = [];
  readonly cancelled = new Set<number>();
  /** How often each onFree was called. */
  readonly freed: number[] = [];
  executions = 0;
  /** Greeted children lost through no doing of the pool. */
  deaths = 0;
  #drawn = 0;

  constructor(size: number, maxRequests: number) {
    this.world = new World({ size, maxRequests });
    this.world.pool.start();
  }

  keep(lease: Lease): void {
    expect(lease.alive).toBe(true);
    this.held.push({ lease, answer: undefined });
  }

  wait(): void {
    const number = this.#drawn++;
    const waiter: LeaseWaiter = {
      onLease: (lease) => {
        if (this.line.includes(waiter)) this.line.splice(this.line.indexOf(waiter), 1);
        this.served.push(number);
        this.keep(lease);
      },
      onRefuse: () => {
        throw new Error("refused");
      },
    };
    Object.assign(waiter, { number });
    this.line.push(waiter);
    this.world.pool.wait(waiter);
  }

  cancel(at: number): void {
    const waiter = this.line.splice(at % this.line.length, 1)[0]!;
    this.cancelled.add((waiter as LeaseWaiter & { number: number }).number);
    expect(this.world.pool.cancel(waiter)).toBe(true);
  }

  onFree(): () => void {
    const index = this.freed.push(0) - 1;
    return () => void this.freed[index]!++;
  }

  release(held: Held, how: "done" | "killed" | "timeout" | "hang up"): void {
    this.held.splice(this.held.indexOf(held), 1);
    if (how === "done" && held.lease.alive) this.executions++;
    if (how === "done") held.lease.done(this.onFree());
    else if (how === "hang up") held.lease.hangUp(this.onFree());
    else held.lease.kill(how, this.onFree());
  }

  /** Something happens to a child; its death counts unless the pool had not heard its greeting yet. */
  lose(socket: FakeSocket | undefined, happens: (socket: FakeSocket) => void): void {
    if (socket === undefined) return;
    const { pool, sockets } = this.world;
    const pid = sockets.get(socket);
    // In the middle of a request, a child that talks nonsense is killed for it.
    const killed = pool.restarts.killed;
    const before = pool.alive;
    happens(socket);
    expect(sockets.has(socket)).toBe(false);
    this.deaths += before - pool.alive - (pool.restarts.killed - killed);
    expect(this.held.some((held) => held.lease.alive && held.lease.pid === pid)).toBe(false);
  }

  check(): void {
    const { pool } = this.world;
    const alive = this.held.filter((held) => held.lease.alive);
    expect(this.world.excess).toBe(0);
    expect(new Set(alive.map((held) => held.lease.pid)).size).toBe(alive.length);
    for (const held of alive) expect(this.world.children.includes(this.world.socketOf(held.lease.pid))).toBe(true);
    expect(pool.busy).toBe(alive.length);
    expect(pool.restarts.died).toBe(this.deaths);
    expect(pool.waiting).toBe(this.line.length);
    expect(pool.alive > pool.busy && pool.waiting > 0).toBe(false);
    expect(pool.alive <= this.world.sockets.size).toBe(true);
    expect(this.served.every((number, i) => i === 0 || number > this.served[i - 1]!)).toBe(true);
    expect(this.freed.every((count) => count <= 1)).toBe(true);
    expect(pool.executions).toBe(this.executions);
    const pids = this.world.killed.map((kill) => kill.pid);
    expect(new Set(pids).size).toBe(pids.length);
    expect(this.world.killedFirst).toBe(true);
    expect(pids.length).toBe(pool.restarts.killed + pool.restarts.max_requests + pool.restarts.timeout);
  }
}

const pick = <T>(from: readonly T[], at: number): T | undefined => from[at % from.length];

/** Each step does nothing when there is nobody to do it to. */
const steps: Record<string, (model: Model, at: number) => void> = {
  connect: ({ world }, at) => pick([...world.attempts], at)?.accept(),
  connectFails: ({ world }, at) => pick([...world.attempts], at)?.refuse(new Error("ENOENT")),
  greet: ({ world }, at) => {
    const socket = pick(world.ungreeted.filter((one) => one.written.length > 0), at);
    if (socket !== undefined) world.greet(socket);
  },
  greetFails: ({ world }, at) => pick(world.ungreeted, at)?.emit("end"),
  dies: (model, at) => model.lose(pick(model.world.children, at), (socket) => socket.emit("end")),
  babbles: (model, at) => {
    model.lose(pick(model.world.children, at), (socket) => socket.emit("data", new Uint8Array([9])));
  },
  checkout: (model) => {
    const lease = model.world.pool.checkout();
    if (lease !== undefined) model.keep(lease);
  },
  wait: (model) => model.wait(),
  cancel: (model, at) => {
    if (model.line.length > 0) model.cancel(at);
  },
  send: ({ held }, at) => {
    const one = pick(held.filter((held) => held.answer === undefined || held.answer.finals > 0), at);
    if (one !== undefined) one.lease.send({ params: [] }, one.answer = new Answer());
  },
  answer: ({ held, world }, at) => {
    const one = pick(held.filter((held) => held.lease.alive && held.answer?.finals === 0), at);
    if (one !== undefined) world.socketOf(one.lease.pid).answer("x");
  },
  done: (model, at) => {
    const one = pick(model.held, at);
    if (one !== undefined) model.release(one, "done");
  },
  kill: (model, at) => {
    const one = pick(model.held, at);
    if (one !== undefined) model.release(one, at % 2 === 0 ? "killed" : "timeout");
  },
  hangUp: (model, at) => {
    const one = pick(model.held, at);
    if (one !== undefined) model.release(one, "hang up");
  },
  gone: ({ world }, at) => {
    const kill = pick(world.killed, at);
    if (kill !== undefined) world.pool.childGone(kill.pid);
  },
  time: ({ world }, at) => world.clock.advance(at * 7),
  resize: ({ world }, at) => world.pool.resize(1 + at % 5),
};

const program = fc.array(
  fc.record({
    step: fc.constantFrom(
      ...Object.keys(steps),
      ...["connect", "connect", "greet", "greet", "greet", "checkout", "wait", "send", "answer", "done", "time"],
    ),
    at: fc.nat({ max: 200 }),
    /** Whether promises may settle before the next step. */
    settles: fc.boolean(),
  }),
  { maxLength: 80, size: "max" },
);

test("whatever happens, no child has two holders, no waiter is lost, no connection is too many", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 4 }), fc.constantFrom(0, 2), program, async (size, most, program) => {
      const model = new Model(size, most);
      if (most === 0) await model.world.bringUp();
      for (const { step, at, settles } of program) {
        steps[step]!(model, at);
        if (settles || step === "connect") await settle(); // an accepted socket is adopted, or dropped, before anything else
        model.check();
      }
      // From here everything goes well: everyone is served, every place is free again, the pool is whole.
      const { world } = model;
      for (let rounds = 0; model.held.length + model.line.length > 0; rounds++) {
        expect(rounds < 200).toBe(true);
        for (const held of [...model.held]) {
          if (held.lease.alive && held.answer?.finals === 0) world.socketOf(held.lease.pid).answer("x");
          model.release(held, "done");
        }
        await world.bringUp();
        model.check();
      }
      await world.bringUp();
      model.check();
      expect(model.freed.every((count) => count === 1)).toBe(true);
      expect([world.pool.alive, world.open, world.clock.pending]).toEqual([world.pool.size, world.pool.size, 0]);
      await world.pool.close(true);
      expect([world.open, world.clock.pending]).toEqual([0, 0]);
    }),
    { numRuns: 500 },
  );
});
