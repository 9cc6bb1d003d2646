import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { latencyStats, little, plausible, total, withoutCorrection } from "../../bench/http/histogram.ts";

/** The correction as wrk does it: upwards, every sample of two intervals or more casts shadows below itself. */
function corrected(raw: ReadonlyMap<number, number>, interval: number): Map<number, number> {
  const out = new Map(raw);
  for (let value = interval * 2; value <= Math.max(...raw.keys()); value++) {
    const count = out.get(value) ?? 0;
    for (let below = value - interval; count > 0 && below > interval; below -= interval) {
      out.set(below, (out.get(below) ?? 0) + count);
    }
  }
  return out;
}

const histograms = fc.array(fc.tuple(fc.integer({ min: 1, max: 400 }), fc.integer({ min: 1, max: 9 })), {
  minLength: 1,
})
  .map((pairs) => new Map(pairs));

describe("withoutCorrection", () => {
  test("gives back what was measured", () => {
    fc.assert(fc.property(histograms, fc.integer({ min: 1, max: 300 }), (raw, interval) => {
      const back = withoutCorrection(corrected(raw, interval), interval);
      expect([...back].sort()).toEqual([...raw].sort());
    }));
  });

  test("takes away the shadows of one slow request", () => {
    const reported = new Map([[10, 99], [100, 1], [90, 1], [80, 1], [70, 1], [60, 1], [50, 1], [40, 1], [30, 1], [
      20,
      1,
    ]]);
    expect([...withoutCorrection(reported, 10)]).toEqual([[10, 99], [100, 1]]);
    expect(total(withoutCorrection(reported, 10))).toBe(100);
  });

  test("leaves a window with too few requests for a pace alone", () => {
    expect([...withoutCorrection(new Map([[7, 1]]), 0)]).toEqual([[7, 1]]);
  });
});

describe("latencyStats", () => {
  test("takes percentiles that some request really had", () => {
    const stats = latencyStats(new Map(Array.from({ length: 100 }, (_, i) => [(i + 1) * 1000, 1])));
    expect([stats.p50, stats.p90, stats.p99, stats.p999, stats.max]).toEqual([50, 90, 99, 100, 100]);
    expect(stats.mean).toBe(50.5);
  });

  test("is all zero without a request", () => {
    expect(latencyStats(new Map())).toEqual({ count: 0, mean: 0, p50: 0, p90: 0, p99: 0, p999: 0, max: 0, meanAge: 0 });
  });
});

describe("little", () => {
  test("is 1 for a perfectly fair queue, cut off in the middle of a turn", () => {
    // 100 clients, 1000 requests a second, 2 s: the first turn finds a shorter queue, later ones take 100 ms each.
    const raw = new Map<number, number>();
    for (let i = 1; i <= 2000; i++) {
      const us = Math.min(i, 100) * 1000;
      raw.set(us, (raw.get(us) ?? 0) + 1);
    }
    const balance = little(latencyStats(raw), 100, 2);
    expect(Math.abs(balance.ratio - 1)).toBeLessThan(0.001);
    expect(plausible(balance)).toBe(true);
  });

  test("shows lost samples and a server that answers some clients only", () => {
    expect(plausible(little(latencyStats(new Map([[100_000, 900]])), 100, 1))).toBe(false);
    expect(plausible(little(latencyStats(new Map([[1000, 2000]])), 100, 2))).toBe(false);
  });

  test("forgives what wrk itself needs between two fast answers, not more", () => {
    // One client, 1 s: 9,000 answers of 100 us leave 11.1 us each unaccounted for; 9,400 leave 6.4 us.
    expect(plausible(little(latencyStats(new Map([[100, 9000]])), 1, 1))).toBe(false);
    expect(plausible(little(latencyStats(new Map([[100, 9400]])), 1, 1))).toBe(true);
  });
});
