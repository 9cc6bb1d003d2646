import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { AdaptiveLimit, type AdaptiveOptions, type Stamp } from "../../plugins/admission/adaptive_limit.ts";

interface Running {
  readonly stamp: Stamp;
  readonly ends: number;
  readonly usable: boolean;
}

/** Clients that always want to run, as many as the limit lets, on something whose service time depends on how many run. */
class World {
  now = 0;
  demand: number;
  /** Ms for one of `n` that run. */
  service: (n: number) => number;
  usable: () => boolean = () => true;
  done = 0;
  readonly adaptive: AdaptiveLimit;
  readonly limits: number[] = [];
  #running: Running[] = [];
  #seed = 42;

  constructor(options: Partial<AdaptiveOptions> & { ceiling: number }, demand: number, service: (n: number) => number) {
    this.adaptive = new AdaptiveLimit({ steer: true, random: () => 0.5, ...options }, 0);
    this.demand = demand;
    this.service = service;
  }

  get running(): number {
    return this.#running.length;
  }

  begin(): void {
    const n = this.#running.length + 1;
    const stamp = this.adaptive.begin(this.now);
    // Or all would end at the same moments.
    this.#seed = (this.#seed * 16807) % 2147483647;
    const ms = this.service(n) * (0.8 + 0.4 * this.#seed / 2147483647);
    this.#running.push({ stamp, ends: this.now + ms, usable: this.usable() });
    this.#running.sort((a, b) => a.ends - b.ends);
  }

  /** Runs for so many seconds, noting the limit at the end of each. */
  run(seconds: number): this {
    for (let i = 0; i < seconds; i++) {
      const until = this.now + 1000;
      for (;;) {
        while (this.#running.length < Math.min(this.demand, this.adaptive.limit)) this.begin();
        const first = this.#running[0];
        if (first === undefined || first.ends > until) break;
        this.#running.shift();
        this.now = first.ends;
        this.done++;
        if (first.usable) this.adaptive.sample(first.stamp, this.now);
        this.adaptive.end(this.now);
      }
      this.now = until;
      this.limits.push(this.adaptive.limit);
    }
    return this;
  }
}

/** As many at once as there are cores, the others share them. */
const cores = (count: number, ms: number) => (n: number) => ms * Math.max(1, n / count);

describe("a limit below the pool's size", () => {
  test("is found where more at once only wait for each other, and costs no throughput", () => {
    const world = new World({ ceiling: 64 }, 1, cores(4, 40)).run(20);
    expect(Math.abs(world.adaptive.baseline! - 40)).toBeLessThan(2);
    world.demand = 100;
    world.run(60);
    expect(world.adaptive.advice).toBeGreaterThanOrEqual(4);
    expect(world.adaptive.advice).toBeLessThan(16);
    const before = world.done;
    world.run(50);
    expect((world.done - before) / 50).toBeGreaterThan(0.97 * 100);
  });

  test("stays the pool's size while service is as fast as alone, and where latency is not of its making", () => {
    expect(new World({ ceiling: 64 }, 100, () => 40).run(150).limits.every((limit) => limit >= 16)).toBe(true);
    const world = new World({ ceiling: 32 }, 1, () => 40).run(20);
    world.demand = 100;
    world.service = () => 200;
    world.run(200);
    const low = world.limits.slice(-150).filter((limit) => limit < 28).length;
    expect(low).toBeLessThan(15);
  });

  test("is never outside floor and ceiling, whatever happens", () => {
    const times = fc.array(fc.tuple(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: 500 })), {
      minLength: 1,
      maxLength: 20,
    });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 5 }), times, (ceiling, floor, phases) => {
        const world = new World({ ceiling, floor: Math.min(floor, ceiling) }, 1, cores(2, 5));
        for (const [demand, ms] of phases) {
          world.demand = demand;
          world.service = cores(3, ms);
          world.run(5);
          expect(world.adaptive.limit).toBeGreaterThanOrEqual(1);
          expect(world.adaptive.advice).toBeGreaterThanOrEqual(Math.min(floor, ceiling));
          expect(world.adaptive.limit).toBeLessThanOrEqual(ceiling);
        }
      }),
      { numRuns: 30 },
    );
  });

  test("follows the pool's size", () => {
    const world = new World({ ceiling: 8 }, 100, () => 40).run(5);
    world.adaptive.resize(20, world.now);
    expect(world.adaptive.limit).toBe(20);
    world.adaptive.resize(4, world.now);
    expect(world.adaptive.limit).toBe(4);
  });
});

describe("what others were bitten by", () => {
  test("concurrency-limits 134: at 1.25 times the baseline for ten minutes it does not creep up", () => {
    const world = new World({ ceiling: 64, floor: 2 }, 1, cores(4, 40)).run(20);
    world.demand = 100;
    world.run(60);
    // More than half of that many is a mild overload.
    const at = world.adaptive.advice;
    world.service = (n) => n > at / 2 ? 50 * Math.max(1, n / at) : 40;
    const seen = world.limits.length;
    world.run(600);
    const later = world.limits.slice(seen);
    expect(Math.max(...later)).toBeLessThanOrEqual(at);
  });

  test("concurrency-limits 165: one bad moment is no baseline, and load does not raise it", () => {
    const world = new World({ ceiling: 32 }, 1, cores(4, 40)).run(20);
    world.service = () => 1600;
    world.demand = 20;
    world.run(2);
    world.demand = 1;
    world.service = cores(4, 40);
    world.run(3);
    expect(world.adaptive.baseline!).toBeLessThan(48);
    world.demand = 100;
    world.run(45);
    expect(world.adaptive.baseline!).toBeLessThan(48);
  });

  test("concurrency-limits 35: when load steps up tenfold the limit has nine tenths of its size within ten windows", () => {
    const world = new World({ ceiling: 50, floor: 5 }, 1, cores(3, 40)).run(20);
    world.demand = 100;
    world.run(60);
    world.service = () => 40;
    for (let i = 0; i < 60 && world.adaptive.limit > 5; i++) {
      const { limit } = world.adaptive;
      world.service = cores(1, 40);
      world.run(1);
      if (world.adaptive.limit === limit && limit <= 8) break;
    }
    world.service = () => 40;
    world.run(12);
    expect(world.adaptive.limit).toBeGreaterThanOrEqual(45);
  });

  test("envoy 11579: what began before the limit changed does not count", () => {
    const adaptive = new AdaptiveLimit({ ceiling: 8, steer: true, random: () => 0.5 }, 0);
    const old = Array.from({ length: 8 }, () => adaptive.begin(0));
    adaptive.resize(4, 10);
    for (const stamp of old) {
      adaptive.sample(stamp, 5000);
      adaptive.end(5000);
    }
    for (let i = 0; i < 110; i++) {
      const stamp = adaptive.begin(5000 + 10 * i);
      adaptive.sample(stamp, 5010 + 10 * i);
      adaptive.end(5010 + 10 * i);
    }
    expect(adaptive.baseline).toBe(10);
  });

  test("envoy 11579: long requests that straddle a probe do not move the baseline", () => {
    const world = new World({ ceiling: 32 }, 1, cores(4, 40)).run(20);
    world.demand = 100;
    const straddling: Stamp[] = [];
    let before = world.adaptive.baseline!;
    for (let i = 0; i < 150; i++) {
      straddling.push({ at: world.now, epoch: world.adaptive.epoch });
      const { limit } = world.adaptive;
      world.run(1);
      if (world.adaptive.limit < limit / 2) {
        before = world.adaptive.baseline!;
        for (const stamp of straddling.splice(0)) world.adaptive.sample(stamp, world.now);
      }
    }
    expect(Math.abs(world.adaptive.baseline! - before)).toBeLessThan(0.2 * before);
    expect(world.adaptive.baseline!).toBeLessThan(52);
  });

  test("envoy 46532: what a probe uses is no floor, and the floor is not what a probe uses", () => {
    const world = new World({ ceiling: 100, floor: 2, probe: 50 }, 1, cores(1, 40)).run(20);
    world.demand = 100;
    world.run(55);
    expect(Math.min(...world.limits)).toBeLessThan(8);
    const fresh = new World({ ceiling: 100, floor: 2, probe: 50 }, 100, () => 40).run(75);
    expect(fresh.limits).toContain(50);
    expect(Math.min(...fresh.limits)).toBe(50);
  });

  test("envoy 8524: after a probe the limit is what it was, within two windows; also when nothing completes in it", () => {
    const world = new World({ ceiling: 40 }, 100, () => 40);
    for (let i = 0; i < 200 && world.limits.at(-1) !== 10; i++) world.run(1);
    expect(world.limits.at(-1)).toBe(10);
    world.run(2);
    expect(world.adaptive.limit).toBe(40);

    const stuck = new World({ ceiling: 40 }, 100, () => 40);
    for (let j = 0; j < 200 && stuck.limits.at(-1) !== 10; j++) stuck.run(1);
    expect(stuck.limits.at(-1)).toBe(10);
    stuck.adaptive.begin(stuck.now + 3000);
    expect(stuck.adaptive.limit).toBe(40);
  });

  test("errors, and what is too little to tell, change nothing", () => {
    const world = new World({ ceiling: 32 }, 1, cores(4, 40)).run(20);
    world.demand = 100;
    world.usable = () => false;
    expect(new Set(world.run(100).limits.slice(20))).toEqual(new Set([32]));
  });
});

describe("in the shadow", () => {
  test("it says what it would do, and does nothing", () => {
    const world = new World({ ceiling: 64, steer: false }, 1, cores(4, 40)).run(20);
    expect(world.adaptive.advice).toBe(64);
    world.demand = 100;
    world.run(60);
    expect(new Set(world.limits)).toEqual(new Set([64]));
    expect(world.adaptive.advice).toBeGreaterThanOrEqual(4);
    expect(world.adaptive.advice).toBeLessThan(10);
    world.service = () => 40;
    expect(world.run(60).adaptive.advice).toBe(64);
  });
});
