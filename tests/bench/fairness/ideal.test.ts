import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { exponentialQuantile, exponentialTail, lowerGamma, upperGamma } from "../../../bench/fairness/erlang.ts";
import { bootstrapIdeal, normalIdeal } from "../../../bench/fairness/ideal.ts";
import { LEVELS, mean, variation } from "../../../bench/support/statistics.ts";

/** Mean service 1: N, c, mean, P50, P90, P99, P99.9, and P99 of the normal approximation. */
const exact: readonly (readonly number[])[] = [
  [100, 1, 100, 99.67, 113.0, 124.7, 133.8, 123.3],
  [100, 2, 50, 49.83, 56.57, 62.51, 67.11, 61.75],
  [100, 5, 20, 19.89, 22.85, 25.66, 28.08, 25.10],
  [100, 8, 12.5, 12.37, 14.51, 16.89, 19.19, 16.13],
  [64, 16, 4, 3.77, 5.40, 7.70, 10.01, 6.54],
  [1000, 32, 31.25, 31.12, 33.02, 35.34, 37.64, 34.49],
  [10, 10, 1, 0.69, 2.30, 4.61, 6.91, NaN],
];

/** A thousand times, one from each thousandth of an exponential law of mean 1. */
const exponential = Float64Array.from({ length: 1000 }, (_, i) => -Math.log(1 - (i + 0.5) / 1000));

describe("exponential services", () => {
  for (const [clients, slots, average, p50, p90, p99, p999, normalP99] of exact as readonly number[][]) {
    const queue = { clients: clients!, slots: slots!, service: 1 };

    test(`N=${clients} c=${slots}: the exact quantiles`, () => {
      const found = LEVELS.map((q) => exponentialQuantile(queue, q));
      [p50, p90, p99, p999].forEach((value, i) => {
        // The table has four significant digits.
        expect(Math.abs(found[i]! / value! - 1)).toBeLessThan(value! < 1 ? 0.006 : 0.002);
      });
      // The mean is the area under the tail, and Little's N / X.
      let area = 0;
      const step = average! / 2000;
      for (let t = 0; t < average! * 12; t += step) area += exponentialTail(queue, t + step / 2) * step;
      expect(Math.abs(area / average! - 1)).toBeLessThan(0.001);
    });

    test(`N=${clients} c=${slots}: the queue run on drawn services says the same`, () => {
      const ideal = bootstrapIdeal(exponential, queue, { requests: 300_000 });
      expect(Math.abs(mean(ideal.sojourns) / average! - 1)).toBeLessThan(0.01);
      const { p50: half, p99: tail } = ideal.quantiles;
      expect(Math.abs(half / p50! - 1)).toBeLessThan(0.01);
      expect(Math.abs(tail / p99! - 1)).toBeLessThan(0.02);
    });

    if (!Number.isNaN(normalP99)) {
      test(`N=${clients} c=${slots}: the normal approximation is as far off as is said of it`, () => {
        const load = { clients: clients!, slots: slots!, throughput: slots! };
        expect(normalIdeal(load, 1).p99).toBeCloseTo(normalP99!, 1);
      });
    }
  }

  test("P and Q are what they are", () => {
    // P(1, x) = 1 - e^-x; P(3, 2) = 1 - 5 e^-2.
    expect(lowerGamma(1, 0.7)).toBeCloseTo(1 - Math.exp(-0.7), 12);
    expect(lowerGamma(3, 2)).toBeCloseTo(1 - 5 * Math.exp(-2), 12);
    expect(upperGamma(98, 0)).toBe(1);
    fc.assert(fc.property(
      fc.integer({ min: 1, max: 1000 }),
      fc.double({ min: 0.01, max: 2000, noNaN: true }),
      (k, x) => {
        expect(lowerGamma(k, x) + upperGamma(k, x)).toBeCloseTo(1, 9);
        expect(upperGamma(k + 1, x)).toBeGreaterThanOrEqual(upperGamma(k, x) - 1e-12);
      },
    ));
  });
});

describe("any services", () => {
  test("constant ones make every sojourn N s / c", () => {
    const { quantiles } = bootstrapIdeal([3], { clients: 10, slots: 1 }, { requests: 1000 });
    expect(quantiles).toEqual({ p50: 30, p90: 30, p99: 30, p999: 30 });
    const load = { clients: 10, slots: 1, throughput: 1 / 3 };
    expect(normalIdeal(load, 0).p99).toBeCloseTo(30, 9);
  });

  test("the mean sojourn is Little's, whatever the law", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 20 }),
        fc.integer({ min: 1, max: 6 }),
        fc.integer({ min: 0, max: 40 }),
        (services, slots, queued) => {
          const ideal = bootstrapIdeal(services, { clients: slots + queued, slots }, { requests: 20_000 });
          const little = (slots + queued) * mean(services) / slots;
          expect(Math.abs(mean(ideal.sojourns) / little - 1)).toBeLessThan(0.05);
          expect(queued > 0 || ideal.waits.every((wait) => wait === 0)).toBe(true);
        },
      ),
      { numRuns: 30 },
    );
  });

  test("C is that of the law", () => {
    expect(variation([5, 5, 5])).toBe(0);
    expect(variation([1, 3])).toBe(0.5);
    expect(variation(exponential)).toBeCloseTo(1, 1);
    expect(variation([1e9, 1e9 + 2])).toBeCloseTo(1e-9, 15);
  });

  test("refuses to guess", () => {
    expect(() => bootstrapIdeal([], { clients: 2, slots: 1 })).toThrow("no service was measured");
  });
});
