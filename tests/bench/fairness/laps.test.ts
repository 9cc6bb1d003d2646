import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { seeded } from "../../support/seeded.ts";
import { bargedLaps, diagnose, passedOver } from "../../../bench/fairness/laps.ts";
import { jain, quantiles, rank, sorted } from "../../../bench/support/statistics.ts";

describe("laps", () => {
  test("the P99 of barging, in laps", () => {
    expect([0, 0.1, 0.427, 0.7].map((p) => bargedLaps(p, 0.99))).toEqual([1, 2, 5, 10]);
    expect(bargedLaps(1, 0.99)).toBe(Infinity);
  });

  test("a simulated race is known by its histogram", () => {
    // 100 clients, 2 slots, service 1: a newcomer takes a freed slot with chance p, the head that lost goes to the back.
    const draw = seeded(7), p = 0.427;
    const line: { since: number }[] = Array.from({ length: 98 }, () => ({ since: 0 }));
    const waits: number[] = [];
    for (let now = 0; waits.length < 40_000; now += 0.5) {
      if (draw() < p) {
        waits.push(0);
        line.push(line.shift()!);
      } else {
        waits.push(now - line.shift()!.since);
        line.push({ since: now });
      }
    }
    const found = diagnose(sorted(waits.slice(10_000)), 49, 1);
    expect(Math.abs(found.early - p)).toBeLessThan(0.02);
    expect(found.predictedP99).toBe(5);
    expect(Math.abs(found.p99 - 5)).toBeLessThan(0.6);
    expect(Math.abs(found.shares[1]! - (1 - p) * (1 - p))).toBeLessThan(0.06);
  });

  test("a fair line waits one lap and never early", () => {
    const { early, shares, p99, predictedP99 } = diagnose([48.9, 49, 49.1], 49, 1);
    expect([early, shares, predictedP99]).toEqual([0, [0, 1, 0, 0, 0, 0], 1]);
    expect(p99).toBeCloseTo(1, 2);
  });
});

describe("passedOver", () => {
  test("counts who was passed, not who passed, and forgives what is within the margin", () => {
    const order = [{ sent: 5, started: 1 }, { sent: 0, started: 2 }, { sent: 4.5, started: 3 }, {
      sent: 6,
      started: 4,
    }];
    expect(passedOver(order, 1)).toBe(1 / 4);
    expect(passedOver(order, 0)).toBe(2 / 4);
  });

  test("nobody in order of arrival", () => {
    fc.assert(fc.property(fc.array(fc.double({ min: 0, max: 1e6, noNaN: true }), { minLength: 1 }), (times) => {
      const requests = [...times].sort((a, b) => a - b).map((sent, started) => ({ sent, started }));
      expect(passedOver(requests, 0)).toBe(0);
    }));
  });
});

describe("Jain's index", () => {
  test("from one for all to everything for one", () => {
    expect(jain([7, 7, 7])).toBe(1);
    expect(jain([12, 0, 0, 0])).toBe(0.25);
    expect(jain([1, 2, 3])).toBeCloseTo(36 / 42, 12);
    expect(jain([])).toBe(NaN);
  });

  test("lies between 1/n and 1, and knows no unit", () => {
    fc.assert(fc.property(fc.array(fc.integer({ min: 1, max: 1000 }), { minLength: 1 }), (shares) => {
      expect(jain(shares)).toBeGreaterThanOrEqual(1 / shares.length - 1e-12);
      expect(jain(shares)).toBeLessThanOrEqual(1 + 1e-12);
      expect(jain(shares.map((x) => x * 3))).toBeCloseTo(jain(shares), 9);
    }));
  });
});

test("quantiles are nearest ranks", () => {
  const thousand = Array.from({ length: 1000 }, (_, i) => i + 1);
  expect(quantiles(thousand)).toEqual({ p50: 500, p90: 900, p99: 990, p999: 999 });
  expect(rank([4], 0.999)).toBe(4);
  expect(rank([], 0.5)).toBe(NaN);
});
