/**
 * What is timed. Each experiment runs in a process of its own, warms up, and tells what one operation costs.
 *
 * @module
 */
import type { Arm, MakeArm } from "./arms/arm.ts";
import { type Cost, Stopwatch } from "./stopwatch.ts";

/** One kind of measurement; `depth` is the number of waiters, where there are any. */
export interface Experiment {
  readonly name: string;
  readonly what: string;
  readonly depths: readonly number[];
  /** Whether the arm can do this. */
  can(arm: Arm): boolean;
  run(make: MakeArm, depth: number, ms: number): Promise<Cost>;
}

const alone: Experiment = {
  name: "uncontended",
  what: "take a free permit and give it back",
  depths: [1],
  can: () => true,
  async run(make, _, ms) {
    const arm = make(1);
    const size = 2000;
    const loop = async (budget: number) => {
      const watch = new Stopwatch();
      let done = 0;
      watch.start();
      for (const end = performance.now() + budget; performance.now() < end; done += size) {
        const running = arm.alone(size);
        if (running !== undefined) await running;
      }
      watch.stop();
      return watch.per(done);
    };
    await loop(ms / 2);
    return await loop(ms);
  },
};

/**
 * Operations after which code is compiled for good, and ms after which it has to do as it is: on a busy machine the compiler, which
 * has a thread of its own, takes many times as long, and what would be measured is how far it got.
 */
const compiled = 1_000_000;
const longestWarmUp = 10_000;

/** A line that stays as long as it is: who is served gets in line again. One permit, so each grant is a park too. */
const standing: Experiment = {
  name: "standing line",
  what: "park at the end of a line of that length, and be granted at its head",
  depths: [1, 1000, 10_000, 100_000],
  can: (arm) => arm.submit !== undefined,
  run(make, depth, ms) {
    const arm = make(1);
    return new Promise((resolve) => {
      const watch = new Stopwatch();
      let served = 0;
      let counted = 0;
      let until = 0;
      let warm = false;
      const latest = performance.now() + longestWarmUp;
      const task = () => {
        // Reading the clock for each would be most of what is measured.
        if (++served % 64 === 0 && performance.now() >= until) {
          if (!warm && served < compiled && performance.now() < latest) return arm.submit!(task);
          if (warm) {
            watch.stop();
            return resolve(watch.per(served - counted));
          }
          warm = true;
          counted = served;
          until = performance.now() + ms;
          watch.start();
        }
        arm.submit!(task);
      };
      for (let i = 0; i <= depth; i++) arm.submit!(task);
      until = performance.now() + ms / 2;
      arm.begin?.();
    });
  },
};

const contended: Experiment = {
  name: "closed loop",
  what: "that many clients, two permits, each held for one turn of the microtask queue",
  depths: [100],
  can: (arm) => arm.client !== undefined,
  async run(make, depth, ms) {
    const arm = make(2);
    const loop = async (budget: number) => {
      let passed = 0;
      let stopped = false;
      const until = performance.now() + budget;
      const hold = () => {
        // No timer fires as long as there are microtasks.
        if (++passed % 64 === 0) stopped = performance.now() >= until;
        return Promise.resolve();
      };
      const watch = new Stopwatch();
      watch.start();
      await Promise.all(Array.from({ length: depth }, () => arm.client!(hold, () => !stopped)));
      watch.stop();
      return watch.per(passed);
    };
    await loop(ms / 2);
    return await loop(ms);
  },
};

const cancel: Experiment = {
  name: "cancel",
  what: "take a waiter out of a line of that length, wherever it stands",
  depths: [1000, 100_000],
  can: (arm) => arm.line !== undefined,
  run(make, depth, ms) {
    const arm = make(1);
    const line = [...arm.line!(depth)];
    let at = 0;
    const loop = (budget: number) => {
      const watch = new Stopwatch();
      let done = 0;
      for (const end = performance.now() + budget; performance.now() < end; done += cancelled) {
        // A step without a common divisor with the depth comes by everywhere, and by none twice in a batch.
        const leaving = Array.from({ length: cancelled }, () => at = (at + 7919) % depth);
        watch.start();
        for (const place of leaving) line[place]!();
        watch.stop();
        arm.line!(cancelled).forEach((leave, i) => line[leaving[i]!] = leave);
      }
      return watch.per(done);
    };
    loop(ms / 2);
    return Promise.resolve(loop(ms));
  },
};

/** Waiters taken out between two readings of the stopwatch. */
const cancelled = 500;

export const EXPERIMENTS: readonly Experiment[] = [alone, standing, contended, cancel];
