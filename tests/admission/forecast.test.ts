import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import type { Refusal, Waiter } from "../../core/contracts/gates.ts";
import { createGate } from "../../plugins/admission/create_gate.ts";
import { HoldTimes, reach } from "../../plugins/admission/forecast.ts";
import type { GateOptions } from "../../plugins/admission/gate_options.ts";
import { VirtualClock } from "./virtual_clock.ts";

/** Numbers in [0, 1) that are the same in each run (the generator of Park and Miller). */
function numbers(seed: number): () => number {
  let state = seed;
  return () => (state = state * 48_271 % 2_147_483_647) / 2_147_483_647;
}

interface Load {
  /** How long one holds its permits, in ms. */
  readonly hold: (random: number) => number;
  readonly meanHold: number;
  /** Of what the gate can do. */
  readonly load: number;
  readonly arrivals: number;
  readonly weight?: number;
}

/** Open arrivals at exponential gaps. Who comes before it is known that there are too many is not told of. */
function offer(options: GateOptions, { hold, meanHold, load, arrivals, weight = 1 }: Load) {
  const random = numbers(7), clock = new VirtualClock();
  const gate = createGate({ predict: true, ...options, clock });
  const refused: { readonly reason: Refusal; readonly waitedMs: number; readonly queued: number }[] = [];
  const waits: number[] = [];
  let left = arrivals, worked = 0;
  let known = Infinity;
  const refuse = (reason: Refusal, waitedMs: number) => {
    if (waitedMs > 0 && known === Infinity) known = clock.time + options.grace!;
    if (clock.time >= known || options.predict === false) refused.push({ reason, waitedMs, queued: gate.queued });
  };
  const gap = meanHold * weight / gate.limit / load;
  const arrive = () => {
    if (left-- === 0) return;
    const waiter: Waiter = {
      weight,
      onGrant(waitedMs) {
        waits.push(waitedMs);
        const ms = hold(random());
        worked += ms * weight;
        clock.setTimer(ms, () => gate.leave(waiter));
      },
      onRefuse: (reason, waitedMs) => refuse(reason, waitedMs),
    };
    const verdict = gate.enter(waiter);
    if (verdict === "granted") waiter.onGrant(0);
    else if (verdict !== "queued") refuse(verdict, 0);
    clock.setTimer(-gap * Math.log(1 - random()), arrive);
  };
  arrive();
  while (left >= 0) clock.advance(100);
  const late = refused.filter(({ waitedMs }) => waitedMs > 0).length;
  return { gate, refused, waits, lateShare: late / refused.length, busy: worked / clock.time / gate.limit };
}

/** A page in twenty takes a hundred times as long as the others. */
const mixed = { hold: (random: number) => random < 0.95 ? 5 : 500, meanHold: 29.75 };

describe("whoever would wait for the whole grace window in vain", () => {
  test("is told at once, 99 of 100, at twice the load of a page that mostly takes 5 ms and sometimes 500", () => {
    const told = offer({ limit: 4, grace: 500 }, { ...mixed, load: 2, arrivals: 20_000 });
    expect([...new Set(told.refused.map(({ reason }) => reason))].toSorted()).toEqual(["grace", "predicted"]);
    expect(told.refused.length).toBeGreaterThan(8000);
    expect(told.lateShare).toBeLessThan(0.01);
    expect(told.busy).toBeGreaterThan(0.96);
    const untold = offer({ limit: 4, grace: 500, predict: false }, { ...mixed, load: 2, arrivals: 20_000 });
    expect(untold.lateShare).toBe(1);
  });

  for (const weight of [1, 2, 3]) {
    test(`is told at once with exponential times, and no permit lies idle (permits for each: ${weight})`, () => {
      const hold = (random: number) => -100 * Math.log(1 - random);
      const { lateShare, busy } = offer(
        { limit: 8 * weight, grace: 2000 },
        { hold, meanHold: 100, load: 1.5, arrivals: 20_000, weight },
      );
      expect(lateShare).toBeLessThan(0.01);
      expect(busy).toBeGreaterThan(0.98);
    });
  }

  test("is nobody whose turn would come just in time, where all take equally long", () => {
    const { waits, lateShare } = offer(
      { limit: 4, grace: 1000 },
      { hold: () => 20, meanHold: 20, load: 2, arrivals: 4000 },
    );
    expect(lateShare).toBeLessThan(0.01);
    expect(waits.toSorted((a, b) => a - b)[waits.length >> 1]!).toBeGreaterThan(900);
  });

  test("is nobody below capacity, but for the worst of moments", () => {
    const { refused } = offer({ limit: 4, grace: 2000 }, { ...mixed, load: 0.7, arrivals: 20_000 });
    expect(refused).toEqual([]);
  });

  test("is not looked for where only deadlines are foretold, nor without a window", () => {
    for (const options of [{ grace: 500, predict: "deadline" }, {}] as const) {
      const { gate } = offer({ limit: 4, ...options }, { ...mixed, load: 2, arrivals: 2000 });
      expect(gate.counts.refused.predicted).toBe(0);
    }
  });

  /** A gate of four permits, with who holds them. */
  function pool(predict: true | "deadline" = true) {
    const clock = new VirtualClock();
    const gate = createGate({ limit: 4, grace: 10_000, predict, clock });
    const held: Waiter[] = [];
    const late: Refusal[] = [];
    const come = (ms = Infinity) => {
      const waiter: Waiter = {
        deadline: clock.time + ms,
        onGrant: () => void held.push(waiter),
        onRefuse: (reason) => void late.push(reason),
      };
      const verdict = gate.enter(waiter);
      if (verdict === "granted") held.push(waiter);
      return verdict;
    };
    /** One is done each so many ms. */
    const work = (times: number, ms: number) => {
      for (let i = 0; i < times; i++) {
        clock.advance(ms);
        gate.leave(held.shift()!);
      }
    };
    return { clock, gate, late, come, work };
  }

  for (const predict of [true, "deadline"] as const) {
    test(`is not foretold before somebody has, whatever slow answers and far deadlines there are (${predict})`, () => {
      const { come, work, late } = pool(predict);
      for (let i = 0; i < 24; i++) come(60_000);
      // Two a second: 600 more would take five minutes, if they were as slow.
      work(8, 500);
      for (let i = 0; i < 600; i++) expect(come(60_000)).toBe("queued");
      // A deadline within the window is another matter.
      expect(come(5000)).toBe("predicted");
      // They are not.
      work(616, 5);
      expect(late).toEqual([]);
    });
  }

  test("is told at once after that, until the line has been empty for a second", () => {
    const { clock, gate, come, work, late } = pool();
    // Ten come a second, two are done.
    for (let second = 0; second < 20; second++) {
      for (let i = 0; i < 10; i++) come();
      work(2, 500);
    }
    expect(late.length).toBeGreaterThan(10);
    expect(gate.counts.refused.predicted).toBeGreaterThan(50);
    while (gate.used > 0) work(1, 500);
    clock.advance(1001);
    const before = late.length;
    for (let i = 0; i < 2000; i++) expect(come()).not.toBe("predicted");
    work(2000, 4);
    expect([late.length, gate.queued]).toEqual([before, 0]);
  });

  test("is nobody with fewer permits ahead than the gate has", () => {
    const { refused } = offer({ limit: 4, grace: 50 }, { hold: () => 500, meanHold: 500, load: 4, arrivals: 1000 });
    const lines = refused.filter(({ reason }) => reason === "predicted").map(({ queued }) => queued);
    expect(lines.length).toBeGreaterThan(20);
    expect(Math.min(...lines)).toBeGreaterThanOrEqual(4);
  });
});

describe("how many permits come back in time", () => {
  test("is fewer than on average by three deviations of what that many vary by", () => {
    fc.assert(fc.property(
      fc.double({ min: 0.01, max: 1e6, noNaN: true }),
      fc.double({ min: 0, max: 1000, noNaN: true }),
      (expected, dispersion) => {
        const n = reach(expected, dispersion);
        expect(n).toBeLessThanOrEqual(expected * (1 + 1e-9));
        expect(n + 3 * Math.sqrt(n * dispersion)).toBeCloseTo(expected, -Math.log10(expected * 1e-6));
      },
    ));
    expect(reach(100, 0)).toBeCloseTo(100, 9);
  });

  test("varies as much as the times permits are out for", () => {
    const holds = new HoldTimes(), random = numbers(3);
    for (let i = 0; i < 19; i++) holds.took(10, 1);
    expect(holds.dispersion).toBe(1);
    holds.took(10, 1);
    expect(holds.dispersion).toBeCloseTo(0, 9);
    for (let i = 0; i < 20_000; i++) holds.took(mixed.hold(random()), 1);
    // 0.95 x 5² + 0.05 x 500², over 29.75², less 1.
    expect(holds.dispersion).toBeGreaterThan(13.15 * 0.7);
    expect(holds.dispersion).toBeLessThan(13.15 * 1.3);
  });

  test("varies in larger steps where permits go out several at a time", () => {
    const one = new HoldTimes(), three = new HoldTimes();
    for (let i = 0; i < 1000; i++) {
      one.took(i % 2 === 0 ? 10 : 30, 1);
      three.took(i % 2 === 0 ? 10 : 30, 3);
    }
    expect(one.dispersion).toBeCloseTo(0.25, 6);
    expect(three.dispersion).toBeCloseTo(0.75, 6);
  });

  test("forgets how it was", () => {
    const holds = new HoldTimes();
    for (let i = 0; i < 5000; i++) holds.took(i % 2 === 0 ? 10 : 1000, 1);
    for (let i = 0; i < 20_000; i++) holds.took(50, 1);
    expect(holds.dispersion).toBeLessThan(0.01);
  });
});
