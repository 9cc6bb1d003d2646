import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import type { Ended } from "../../../plugins/php/fork/ended.ts";
import { Nursery, type Order, type ParentEvents, type Spare } from "../../../plugins/php/fork/nursery.ts";
import { turns } from "../../support/wait.ts";

interface FakeChild extends Spare {
  readonly life: number;
  stopped: boolean;
  orphan: boolean;
  end: Ended | undefined;
}

/** A system of processes that does what it is told, when it is told to. */
class Fakes {
  readonly nursery: Nursery<FakeChild>;
  readonly orders: { readonly order: Order<FakeChild>; child?: FakeChild; failed: boolean; cancelled: boolean }[] = [];
  /** Tokens that were asked for and not forgotten, of the parent that is there. */
  asked: string[] = [];
  living: FakeChild[] = [];
  events: ParentEvents<FakeChild> | undefined;
  life = 0;
  up = false;
  stops = 0;
  kills = 0;
  lost: number[] = [];
  #tokens = 0;

  constructor(spares: number) {
    this.nursery = new Nursery<FakeChild>({
      spares,
      token: () => `t${this.#tokens++}`,
      forget: (token) => {
        this.asked = this.asked.filter((each) => each !== token);
      },
      start: (events) => {
        expect(this.events).toBe(undefined);
        this.events = events;
        this.life++;
        return {
          pid: this.life,
          fork: (token) => {
            expect(this.up).toBe(true);
            this.asked.push(token);
            const waiting = this.orders.filter(({ child, failed, cancelled }) =>
              !child && !failed && !cancelled
            ).length;
            expect(this.asked.length + this.nursery.ready).toBeLessThanOrEqual(waiting + spares);
          },
          stop: () => this.stops++,
          kill: () => this.kills++,
        };
      },
      onLost: (_exit, orphans) => this.lost.push(orphans),
    });
  }

  order(): void {
    const entry: (typeof this.orders)[number] = {
      failed: false,
      cancelled: false,
      order: {
        onBorn: (child) => {
          expect([entry.child, entry.failed, entry.cancelled]).toEqual([undefined, false, false]);
          // First come, first served.
          for (const other of this.orders) {
            if (other === entry) break;
            expect(other.child !== undefined || other.failed || other.cancelled).toBe(true);
          }
          expect(this.orders.some((other) => other.child === child)).toBe(false);
          entry.child = child;
        },
        onFailed: () => {
          expect([entry.child, entry.failed, entry.cancelled]).toEqual([undefined, false, false]);
          entry.failed = true;
        },
      },
    };
    this.orders.push(entry);
    this.nursery.order(entry.order);
  }

  cancel(at: number): void {
    const entry = this.orders[at % Math.max(1, this.orders.length)];
    if (entry === undefined) return;
    const pending = entry.child === undefined && !entry.failed && !entry.cancelled;
    expect(this.nursery.cancel(entry.order, false)).toBe(pending);
    if (pending) entry.cancelled = true;
  }

  boot(): void {
    if (this.events === undefined || this.up) return;
    this.up = true;
    this.events.onUp();
  }

  birth(): void {
    const token = this.asked.shift();
    if (token === undefined) return;
    const child: FakeChild = {
      token,
      life: this.life,
      stopped: false,
      orphan: false,
      end: undefined,
      stop: () => child.stopped = true,
      ended: (end) => {
        child.end = end;
        this.over(child);
      },
      orphaned: () => child.orphan = true,
    };
    this.living.push(child);
    this.events?.onBorn(child);
  }

  stillborn(): void {
    const token = this.asked.shift();
    if (token !== undefined) this.events?.onEnded({ token, pid: 0, code: 1, signal: null, message: "no memory" });
  }

  die(at: number): void {
    const child = this.living[at % Math.max(1, this.living.length)];
    if (child === undefined) return;
    if (child.orphan) this.over(child);
    else this.events?.onEnded({ token: child.token, pid: 1, code: 0, signal: null, message: "" });
  }

  over(child: FakeChild): void {
    this.living = this.living.filter((each) => each !== child);
    this.nursery.over(child);
  }

  crash(): void {
    const { events } = this;
    if (events === undefined) return;
    this.events = undefined;
    this.up = false;
    events.onGone({ code: null, signal: "SIGKILL", lastWords: [] });
    expect(this.asked).toEqual([]);
  }

  pending(): number {
    return this.orders.filter(({ child, failed, cancelled }) => !child && !failed && !cancelled).length;
  }
}

const step = fc.oneof(
  ...["order", "boot", "birth", "birth", "stillborn", "crash"].map((name) =>
    fc.record({ name: fc.constant(name), at: fc.constant(0) })
  ),
  ...["cancel", "die"].map((name) => fc.record({ name: fc.constant(name), at: fc.nat(20) })),
);

describe("a nursery", () => {
  test("serves orders in their turn, each once, whatever dies", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 60, size: "max" }),
        fc.integer({ min: 0, max: 3 }),
        async (steps, spares) => {
          const fakes = new Fakes(spares);
          for (const { name, at } of steps) {
            if (name === "order") fakes.order();
            else if (name === "boot") fakes.boot();
            else if (name === "birth") fakes.birth();
            else if (name === "stillborn") fakes.stillborn();
            else if (name === "crash") fakes.crash();
            else if (name === "cancel") fakes.cancel(at);
            else fakes.die(at);
            await Promise.resolve();
          }
          // Orders that wait are served as soon as the world goes well.
          fakes.order();
          await turns(1);
          for (let i = 0; i < 100 && (fakes.pending() > 0 || fakes.asked.length > 0); i++) {
            fakes.boot();
            fakes.birth();
          }
          expect(fakes.pending()).toBe(0);
          expect(fakes.orders.at(-1)?.child).not.toBe(undefined);
          // And it comes to an end.
          const closed = fakes.nursery.close();
          for (const child of [...fakes.living]) {
            if (child.orphan || child.stopped || fakes.orders.some((order) => order.child === child)) fakes.over(child);
          }
          expect(fakes.living).toEqual([]);
          expect(fakes.stops).toBe(fakes.up ? 1 : 0);
          fakes.crash();
          await closed;
          expect(fakes.lost.every((orphans) => orphans >= 0)).toBe(true);
        },
      ),
      { numRuns: 300 },
    );
  });

  test("starts no parent before the first order, and asks for the spares with it", async () => {
    const fakes = new Fakes(2);
    await turns(1);
    expect(fakes.life).toBe(0);
    fakes.order();
    expect(fakes.life).toBe(0);
    await turns(1);
    expect(fakes.life).toBe(1);
    expect(fakes.asked.length).toBe(0);
    fakes.boot();
    expect(fakes.asked.length).toBe(3);
    for (let i = 0; i < 3; i++) fakes.birth();
    expect(fakes.nursery.ready).toBe(2);
    expect(fakes.asked.length).toBe(0);
    fakes.order();
    await turns(1);
    expect(fakes.nursery.ready).toBe(1);
    expect(fakes.asked.length).toBe(1);
  });

  test("does not ask again and again for a spare that cannot be forked", async () => {
    const fakes = new Fakes(1);
    fakes.order();
    await turns(1);
    fakes.boot();
    expect(fakes.asked.length).toBe(2);
    fakes.stillborn();
    fakes.stillborn();
    expect(fakes.orders[0]?.failed).toBe(true);
    expect(fakes.asked.length).toBe(0);
    fakes.order();
    await turns(1);
    expect(fakes.asked.length).toBe(2);
  });

  test("refuses orders once it is closed, and stops what is born late", async () => {
    const fakes = new Fakes(1);
    fakes.order();
    await turns(1);
    fakes.boot();
    const closed = fakes.nursery.close();
    expect(fakes.orders[0]?.failed).toBe(true);
    expect(fakes.stops).toBe(1);
    fakes.birth();
    expect(fakes.living[0]?.stopped).toBe(true);
    fakes.order();
    await turns(1);
    expect(fakes.orders[1]?.failed).toBe(true);
    fakes.crash();
    await closed;
    expect(fakes.lost).toEqual([]);
  });
});
