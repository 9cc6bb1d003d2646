import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import {
  countOf,
  type Distribution,
  distributionOf,
  growth,
  quantile,
} from "../../plugins/dashboard/figures/distribution.ts";
import { parseMetrics } from "../../plugins/dashboard/figures/parse_metrics.ts";
import { Registry } from "../../plugins/metrics/registry.ts";

const bounds = [0.25, 0.5, 1, 2, 4, 8];
const values = fc.array(fc.double({ min: 0, max: 20, noNaN: true }), { minLength: 1, maxLength: 200, size: "max" });
const share = fc.double({ min: 0, max: 1, noNaN: true });

/** What a scrape of a real histogram with these observations says. */
function observed(values: readonly number[]): Distribution {
  const registry = new Registry();
  const histogram = registry.histogram("a", "Help", bounds);
  values.forEach((value) => histogram.observe(value));
  return distributionOf(parseMetrics(registry.expose()), "a")!;
}

describe("quantile", () => {
  test("is that of Prometheus: linear within the bucket", () => {
    const distribution = { bounds: [1, 2, 4, Infinity], cumulative: [0, 10, 10, 10] };
    expect(quantile(distribution, 0.5)).toEqual({ value: 1.5, lower: 1, upper: 2 });
    expect(quantile(distribution, 1)).toEqual({ value: 2, lower: 1, upper: 2 });
    expect(quantile({ bounds: [1, Infinity], cumulative: [4, 4] }, 0.25)).toEqual({ value: 0.25, lower: 0, upper: 1 });
  });

  test("above the last bound only that bound is known", () => {
    expect(quantile({ bounds: [1, 2, Infinity], cumulative: [0, 1, 10] }, 0.99)).toEqual({
      value: 2,
      lower: 2,
      upper: Infinity,
    });
  });

  test("of nothing there is none", () => {
    expect(quantile({ bounds: [1, Infinity], cumulative: [0, 0] }, 0.5)).toBeUndefined();
    expect(quantile({ bounds: [], cumulative: [] }, 0.5)).toBeUndefined();
  });

  test("its bucket holds the true quantile, and it lies in its bucket", () => {
    fc.assert(fc.property(values, share, (list, q) => {
      const found = quantile(observed(list), q)!;
      const truth = list.toSorted((a, b) => a - b)[Math.max(1, Math.ceil(q * list.length)) - 1]!;
      expect(truth > found.lower || (found.lower === 0 && truth === 0)).toBe(true);
      expect(truth).toBeLessThanOrEqual(found.upper);
      expect(found.value).toBeGreaterThanOrEqual(found.lower);
      expect(found.value).toBeLessThanOrEqual(found.upper);
    }));
  });

  test("it does not fall as q grows", () => {
    fc.assert(fc.property(values, share, share, (list, a, b) => {
      const distribution = observed(list);
      const [low, high] = [Math.min(a, b), Math.max(a, b)].map((q) => quantile(distribution, q)!.value);
      expect(high!).toBeGreaterThanOrEqual(low!);
    }));
  });
});

describe("growth", () => {
  test("is what was observed in between", () => {
    fc.assert(fc.property(values, values, (first, second) => {
      const both = observed([...first, ...second]);
      expect(growth(observed(first), both)).toEqual(observed(second));
      expect(growth(undefined, both)).toEqual(both);
      expect(countOf(growth(both, both)!)).toBe(0);
    }));
  });

  test("is unknown when the histogram is another one", () => {
    const before = { bounds: [1, 2, Infinity], cumulative: [1, 5, 5] };
    expect(growth(before, { bounds: [1, 2, Infinity], cumulative: [0, 6, 6] })).toBeUndefined();
    expect(growth(before, { bounds: [1, 3, Infinity], cumulative: [1, 5, 5] })).toBeUndefined();
    expect(growth(before, { bounds: [1, Infinity], cumulative: [1, 5] })).toBeUndefined();
    // More in all, and fewer between 1 and 2 than there were.
    expect(growth(before, { bounds: [1, 2, Infinity], cumulative: [5, 6, 6] })).toBeUndefined();
  });
});

describe("distributionOf", () => {
  test("adds up the children that are meant", () => {
    const metrics = parseMetrics(
      'a_bucket{l="x",le="1.0"} 1\na_bucket{l="x",le="+Inf"} 2\na_bucket{l="y",le="1"} 10\na_bucket{l="y",le="+Inf"} 20\n',
    );
    expect(distributionOf(metrics, "a")).toEqual({ bounds: [1, Infinity], cumulative: [11, 22] });
    expect(distributionOf(metrics, "a", { l: "y" })).toEqual({ bounds: [1, Infinity], cumulative: [10, 20] });
    expect(distributionOf(metrics, "b")).toBeUndefined();
  });
});
