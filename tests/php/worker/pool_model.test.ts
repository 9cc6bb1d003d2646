import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { CoreError } from "../../../core/error.ts";
import type { ExecutionLease, ExecutionWaiter } from "../../../plugins/php/execution_pool.ts";
import type { WorkerRequest } from "../../../plugins/php/worker/handle.ts";
import type { WorkerPoolOptions } from "../../../plugins/php/worker/options.ts";
import { settle } from "../fastcgi/support.ts";
import { type FakeWorker, type Heard, World } from "./world.ts";

/** One request as the executor runs it: a permit, a lease, a second attempt when that is safe, and the permit back. */
class Guest implements ExecutionWaiter<WorkerRequest> {
  readonly #model: Model;
  readonly number: number;
  lease: ExecutionLease<WorkerRequest> | undefined;
  heard: Heard | undefined;
  over = false;
  freed = 0;
  #repeated = false;

  constructor(model: Model, number: number) {
    this.#model = model;
    this.number = number;
  }

  enter(): void {
    const lease = this.#model.world.pool.checkout();
    if (lease !== undefined) return this.onLease(lease);
    this.#model.line.push(this);
    this.#model.world.pool.wait(this);
  }
  onLease(lease: ExecutionLease<WorkerRequest>): void {
    const { line, world } = this.#model;
    const place = line.indexOf(this);
    if (place > 0) world.complaints.push("a waiter was passed over");
    if (place === 0) line.shift();
    if (!lease.alive) world.complaints.push("a dead worker was lent");
    const lent = new Set(this.#model.lentOnly.map((guest) => guest.lease!.pid));
    if (world.isSpent(world.of(lease.pid), lent)) {
      world.complaints.push("a worker was lent beyond the cap, with others there");
    }
    this.lease = lease;
    if (this.number % 4 !== 3) this.send(); // the others take their time
  }
  onRefuse(): void {
    this.#leaveLine();
    this.over = true;
    this.#free(false);
  }
  send(): void {
    if (this.heard !== undefined || this.lease === undefined || this.over) return;
    const { world } = this.#model;
    const request = world.request(world.clock.now() + 10_000);
    const heard = this.heard = world.listen(request);
    if (this.number % 7 === 0) heard.throws = new CoreError("PHP_HEAD_INVALID", "bad head");
    heard.onFinal = () => this.#final(heard);
    this.lease.send(request, heard);
  }
  /** The client leaves, or the deadline comes. */
  stop(how: "left" | "timeout"): void {
    if (this.over) return;
    this.over = true;
    if (this.heard !== undefined) this.heard.deaf = true;
    if (this.lease === undefined) {
      if (!this.#model.world.pool.cancel(this)) this.#model.world.complaints.push("a waiter was lost");
      this.#leaveLine();
      this.#free(false);
    } else if (how === "left") this.lease.hangUp(() => this.#free());
    else this.lease.kill("timeout", () => this.#free());
  }
  /** Calls that come too late. */
  pester(): void {
    if (!this.over || this.lease === undefined) return;
    const free = () => void this.#model.world.complaints.push("a permit came back twice");
    this.lease.done(free);
    this.lease.kill("killed", free);
    this.lease.hangUp(free);
    this.lease.pause();
    this.lease.resume();
  }

  #final(heard: Heard): void {
    const { world } = this.#model;
    const lease = this.lease!;
    if (heard.error === undefined) {
      if (!heard.text.split("r").slice(1).every((number) => `r${number}` === heard.id)) {
        world.complaints.push(`${heard.id} was answered with ${heard.text}`);
      }
    } else if (heard.progress !== "touched" && !this.#repeated) {
      this.#repeated = true;
      this.heard = this.lease = undefined;
      lease.done();
      return this.enter();
    }
    this.over = true;
    lease.done(() => this.#free());
  }
  #leaveLine(): void {
    const place = this.#model.line.indexOf(this);
    if (place >= 0) this.#model.line.splice(place, 1);
  }
  /** @param byPool whether the pool gave the permit back, and not a waiter who left */
  #free(byPool = true): void {
    this.freed++;
    this.#model.onFree(byPool);
  }
}

class Model {
  readonly world: World;
  readonly guests: Guest[] = [];
  /** Guests that wait in the pool. */
  readonly line: Guest[] = [];
  /** The gate. */
  readonly queue: Guest[] = [];
  limit: number;
  used = 0;
  closed = false;
  reloads = 0;
  readonly ends: string[] = [];
  /** Whether {@linkcode Model.check} has the pool look at everything anew. */
  readonly probes: boolean;
  constructor(options: Partial<WorkerPoolOptions> & { size: number }, probes: boolean) {
    this.limit = options.size;
    this.probes = probes;
    const world: World = this.world = new World({
      ...options,
      inspect: (pid) => world.of(pid).look,
      onSize: (size) => {
        this.limit = size;
        this.#admit();
      },
    });
    world.onLaunch = () => {
      // Those that cannot be ended are given up after some seconds.
      const counted = [...world.workers].filter((one) => world.clock.now() < one.killedAt + 5000).length;
      const surge = Math.max(options.surge ?? 0, (options.spares ?? 0) + 1);
      if (counted > world.pool.size + surge) world.complaints.push("one process too many");
    };
    world.cap = options.maxRequests || Infinity;
    world.pool.start();
  }

  arrive(): void {
    const guest = new Guest(this, this.guests.length);
    this.guests.push(guest);
    this.queue.push(guest);
    this.#admit();
  }
  onFree(byPool: boolean): void {
    const { pool } = this.world;
    this.used--;
    const there = pool.alive - pool.busy > 0 || this.used >= this.limit || this.closed;
    if (byPool && !there) this.world.complaints.push("a permit came back, and no worker was there");
    this.#admit();
  }
  #admit(): void {
    while (this.used < this.limit && this.queue.length > 0) {
      this.used++;
      this.queue.shift()!.enter();
    }
  }

  /** Guests that have a worker and have sent it nothing yet. */
  get lentOnly(): readonly Guest[] {
    return this.guests.filter((guest) => guest.lease?.alive && guest.heard === undefined);
  }

  check(): void {
    const { pool, complaints, crashes } = this.world;
    const held = this.guests.filter((guest) => guest.lease?.alive).map((guest) => guest.lease!.pid);
    const rules: Readonly<Record<string, boolean>> = {
      "who waits is known": pool.waiting === this.line.length,
      "nobody waits while a worker is idle": pool.waiting === 0 || pool.alive <= pool.busy,
      "a worker has one guest": new Set(held).size === held.length,
      "a worker that is lent is busy": pool.busy >= held.length,
      "a permit comes back once": this.guests.every((guest) => guest.freed <= 1),
      "a worker crashes once": new Set(crashes.map((crash) => crash.pid)).size === crashes.length,
    };
    const broken = Object.keys(rules).filter((rule) => !rules[rule]);
    expect([...complaints, ...broken]).toEqual([]);
    // A worker that was lent and not yet sent its request may be due: its successor waits for that.
    if (!this.probes || this.lentOnly.length > 0) return;
    const before = this.#done();
    pool.resize(pool.size);
    expect(this.#done()).toEqual(before);
  }

  /** All that the pool has done. */
  #done(): readonly number[] {
    const { all, restarts, pool } = this.world;
    const asked = all.reduce((sum, { stops, killed, sends }) => sum + stops + sends + Number(killed), 0);
    const freed = this.guests.reduce((sum, guest) => sum + guest.freed, 0);
    return [all.length, asked, restarts.length, freed, this.limit, this.used, pool.waiting];
  }
}

const pick = <T>(from: readonly T[], at: number): T | undefined => from[at % from.length];
const nonsense = new CoreError("PHP_PROTOCOL", "nonsense", { status: 502 });

function someone(model: Model, at: number, which: (worker: FakeWorker) => boolean): FakeWorker | undefined {
  return pick([...model.world.workers].filter(which), at);
}
const alive = (worker: FakeWorker) => !worker.killed && !worker.gone;
const working = (worker: FakeWorker) => worker.request !== undefined;

/** Each step does nothing when there is nobody to do it to. */
const steps: Record<string, (model: Model, at: number) => void> = {
  boots: (model, at) => pick(model.world.booting, at)?.ready(),
  bootFails: (model, at) => pick(model.world.booting, at)?.exit(255),
  bootBreaks: (model, at) => pick(model.world.booting, at)?.events.onBroken(nonsense),
  dies: (model, at) =>
    someone(model, at, () => true)?.exit(at % 2 === 0 ? at % 3 : null, at % 2 === 0 ? null : "SIGSEGV"),
  breaks: (model, at) => someone(model, at, () => true)?.events.onBroken(nonsense),
  asks: (model, at) => someone(model, at, alive)?.ask(),
  ended: (model, at) => someone(model, at, (worker) => worker.killed)?.exit(null, "SIGKILL"),
  stopped: (model, at) => someone(model, at, (worker) => worker.stops > 0)?.exit(0),
  prints: (model, at) => someone(model, at, (worker) => working(worker) && !worker.answered)?.print(),
  // Killed ones, too: what they had written is still on its way.
  answers: (model, at) => someone(model, at, (worker) => working(worker) && !worker.answered)?.answer(),
  ends: (model, at) => someone(model, at, (worker) => working(worker) && !worker.answered)?.end(),
  isFree: (model, at) => someone(model, at, (worker) => worker.answered && working(worker))?.ready(),
  isFreeTooSoon: (model, at) => {
    const worker = someone(model, at, (worker) => working(worker) && !worker.answered && worker.cancels === 0);
    worker?.ready();
  },
  hangs: (model, at) => {
    const worker = someone(model, at, alive);
    if (worker !== undefined) worker.look = { rss: 1, stopped: true };
  },
  grows: (model, at) => {
    const worker = someone(model, at, alive);
    if (worker !== undefined) worker.look = { rss: at % 2 === 0 ? 600 : 2000, stopped: false };
  },
  refuses: (model, at) => {
    const worker = someone(model, at, alive);
    if (worker !== undefined) worker.throws = at % 2 === 0 ? nonsense : new Error("a mistake");
  },
  arrives: (model) => model.arrive(),
  sends: (model, at) => pick(model.guests.filter((guest) => guest.lease?.alive && !guest.heard), at)?.send(),
  leaves: (model, at) =>
    pick(model.guests.filter((guest) => !guest.over && !model.queue.includes(guest)), at)?.stop("left"),
  expires: (model, at) => {
    pick(model.guests.filter((guest) => !guest.over && !model.queue.includes(guest)), at)?.stop("timeout");
  },
  pesters: (model, at) => pick(model.guests, at)?.pester(),
  time: (model, at) => model.world.clock.advance(at * 13),
  resizes: (model, at) => model.world.pool.resize(1 + at % 4),
  reloads: (model) => {
    const { pool } = model.world;
    model.reloads++;
    pool.reload(model.world.launch(`v${model.reloads}`)).then(
      () => model.ends.push("done"),
      (error: CoreError) => model.ends.push(error.code),
    );
  },
};

const likely = [
  "boots",
  "boots",
  "boots",
  "answers",
  "answers",
  "answers",
  "arrives",
  "arrives",
  "arrives",
  "ended",
  "time",
];
const program = fc.array(
  fc.record({ step: fc.constantFrom(...Object.keys(steps), ...likely), at: fc.nat({ max: 200 }) }),
  { maxLength: 100, size: "max" },
);
const kinds = fc.constantFrom<Partial<WorkerPoolOptions>>(
  {},
  { maxRequests: 3 },
  { maxRequests: 1, spares: 1 },
  { maxRequests: 10, ttl: 20_000, idleTtl: 3000, maxMemory: 500, hardMemory: 1000 },
  { surge: 2, bootsAtOnce: 1 },
);

test("whatever happens: no answer crosses, no permit is lost, no process too many, nothing is overlooked, and the pool is whole again", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      kinds,
      program,
      fc.boolean(),
      fc.boolean(),
      fc.boolean(),
      async (size, kind, program, probes, mends, graceful) => {
        const model = new Model({ size, ...kind }, probes);
        const { world } = model;
        for (const { step, at } of program) {
          steps[step]!(model, at);
          if (step === "reloads") await settle();
          model.check();
        }
        if (mends) {
          // From here everything goes well.
          const whole = () =>
            world.pool.alive === world.pool.size + (kind.spares ?? 0) && world.pool.busy === 0 &&
            model.ends.length === model.reloads && model.guests.every((guest) => guest.over);
          for (let round = 0; !whole(); round++) {
            expect(round < 300).toBe(true);
            for (const worker of world.workers) worker.look = { rss: 1, stopped: false };
            world.bringUp();
            for (const guest of model.guests) guest.send();
            for (const worker of [...world.workers]) {
              if (!working(worker)) continue;
              if (worker.answered) worker.ready();
              else worker.answer();
            }
            world.bringUp();
            model.check();
            await settle();
            if (!whole()) world.clock.advance(Math.min(500, world.clock.next ?? 0));
          }
          expect(model.guests.map((guest) => guest.freed)).toEqual(model.guests.map(() => 1));
          expect([model.used, model.limit, model.ends.length]).toEqual([0, world.pool.size, model.reloads]);
          expect(world.pool.problem()).toBe(undefined);
        }
        model.closed = true;
        const over = world.pool.close(graceful);
        for (const guest of model.guests) if (!guest.over && !model.queue.includes(guest)) guest.stop("left");
        for (let round = 0; world.workers.size > 0; round++) {
          // Each of up to six workers may be looked at every 250 ms for the 10 s that a request has.
          expect(round < 300).toBe(true);
          world.reap();
          world.clock.advance(world.clock.next ?? 0);
        }
        await over;
        await settle();
        expect([world.pool.processes, world.clock.pending, world.pool.waiting, model.used]).toEqual([0, 0, 0, 0]);
        expect(model.ends.length).toBe(model.reloads);
        model.check();
      },
    ),
    { numRuns: 500 },
  );
});
