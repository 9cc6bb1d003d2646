import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { Registry } from "../../plugins/metrics/registry.ts";
import { parseExposition } from "./parse.ts";

/** Text with what the formats must escape well represented. */
const text = fc.oneof(
  fc.string({ unit: fc.constantFrom("\\", '"', "\n", "n", ",", "}", "{", "=", " ", "é", "😀", "\r") }),
  fc.string({ unit: "grapheme" }),
  fc.string({ unit: "binary" }),
);

describe("properties", () => {
  test("any label value and help comes back from both formats", () => {
    fc.assert(fc.property(fc.array(fc.tuple(text, text), { maxLength: 20 }), text, (pairs, help) => {
      const registry = new Registry();
      const family = registry.counters("a_total", help, ["x", "y"]);
      const model = new Map<string, number>();
      for (const [x, y] of pairs) {
        family.with(x, y).inc();
        const key = JSON.stringify([x.toWellFormed(), y.toWellFormed()]);
        model.set(key, (model.get(key) ?? 0) + 1);
      }
      for (const open of [false, true]) {
        const metric = parseExposition(registry.expose(open ? "openmetrics" : "text"), open).get(
          open ? "a" : "a_total",
        )!;
        expect(metric.help).toBe(help);
        const read = metric.samples.map((s) => [JSON.stringify([s.labels["x"], s.labels["y"]]), s.value] as const);
        expect(new Map(read)).toEqual(model);
        expect(read.length).toBe(model.size);
      }
    }));
  });

  test("a histogram counts like a naive one", () => {
    const bound = fc.double({ noNaN: true, noDefaultInfinity: true });
    const bounds = fc.uniqueArray(bound, { minLength: 1, maxLength: 25, comparator: (a, b) => a === b })
      .map((list) => list.sort((a, b) => a - b));
    const values = fc.array(fc.oneof(bound, fc.constantFrom(NaN, Infinity, -Infinity)), { maxLength: 50, size: "max" });
    fc.assert(fc.property(bounds, values, fc.boolean(), (bounds, random, onBounds) => {
      const registry = new Registry();
      const values = onBounds ? [...random, ...bounds] : random;
      const histogram = registry.histogram("h", "H", bounds);
      for (const value of values) histogram.observe(value);
      const finite = values.filter(Number.isFinite);
      const { samples } = parseExposition(registry.expose()).get("h")!;
      expect(samples.map(({ name, value }) => [name, value])).toEqual([
        ...bounds.map((bound) => ["h_bucket", finite.filter((value) => value <= bound).length]),
        ["h_bucket", finite.length],
        ["h_sum", finite.reduce((sum, value) => sum + value, 0)],
        ["h_count", finite.length],
      ]);
      expect(samples.slice(0, -3).map(({ labels }) => Number(labels["le"]))).toEqual(bounds.map((bound) => bound + 0));
    }));
  });

  test("a family stays within its bound and loses no count", () => {
    const few = fc.oneof(fc.constantFrom("_other", "a", "b", "c"), fc.string({ maxLength: 2 }));
    fc.assert(fc.property(fc.array(fc.tuple(few, few), { maxLength: 60, size: "max" }), fc.nat(8), (pairs, limit) => {
      const registry = new Registry({ limit: limit + 1 });
      const family = registry.counters("a_total", "A", ["x", "y"]);
      const own = new Map<string, number>();
      let other = 0;
      for (const pair of pairs) {
        family.with(...pair).inc();
        const key = JSON.stringify(pair);
        if (own.has(key) || own.size <= limit) own.set(key, (own.get(key) ?? 0) + 1);
        else other++;
      }
      const shared = JSON.stringify(["_other", "_other"]);
      if (other > 0) own.set(shared, (own.get(shared) ?? 0) + other);
      const { samples } = parseExposition(registry.expose()).get("a_total")!;
      expect(samples.length).toBeLessThanOrEqual(limit + 2);
      expect(new Map(samples.map((s) => [JSON.stringify([s.labels["x"], s.labels["y"]]), s.value]))).toEqual(own);
    }));
  });

  test("by default the 501st child is the shared one", () => {
    const family = new Registry().counters("a_total", "A", ["x"]);
    const children = Array.from({ length: 503 }, (_, i) => family.with(String(i)));
    expect(new Set(children).size).toBe(501);
    expect(children[500]).toBe(children[502]);
    expect(family.with("_other")).toBe(children[500]!);
    expect(family.with("499")).toBe(children[499]!);
  });
});
