import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { MAX_RANGES, parseRange } from "../../plugins/static/range.ts";

const at = (start: number, end: number) => ({ start, end });

/** The bytes each range names, by asking of every byte whether it is meant. */
function model(specs: readonly (readonly [number | undefined, number | undefined])[], size: number) {
  const sets = specs.map(([first, last]) =>
    Array.from({ length: size }, (_, i) => i).filter((i) =>
      first === undefined ? i >= size - (last as number) : i >= first && i <= (last ?? Infinity)
    )
  ).filter((set) => set.length > 0);
  if (sets.length === 0) return "unsatisfiable";
  const all = sets.flat();
  return new Set(all).size < all.length ? "whole" : sets;
}

describe("Range", () => {
  test("one range", () => {
    expect(parseRange("bytes=0-0", 10)).toEqual([at(0, 1)]);
    expect(parseRange("bytes=2-5", 10)).toEqual([at(2, 6)]);
    expect(parseRange("bytes=5-", 10)).toEqual([at(5, 10)]);
    expect(parseRange("bytes=-3", 10)).toEqual([at(7, 10)]);
    expect(parseRange("bytes=-99", 10)).toEqual([at(0, 10)]);
    expect(parseRange("bytes=8-99999999999999999999999", 10)).toEqual([at(8, 10)]);
    expect(parseRange("Bytes = 0-1", 10)).toEqual([at(0, 2)]);
  });

  test("several, in the order asked for, without those out of reach", () => {
    expect(parseRange("bytes=0-0,-1", 10)).toEqual([at(0, 1), at(9, 10)]);
    expect(parseRange("bytes=8-9 ,\t0-1,,", 10)).toEqual([at(8, 10), at(0, 2)]);
    expect(parseRange("bytes=0-1,50-60", 10)).toEqual([at(0, 2)]);
  });

  test("out of reach", () => {
    expect(parseRange("bytes=10-", 10)).toBe("unsatisfiable");
    expect(parseRange("bytes=-0", 10)).toBe("unsatisfiable");
    expect(parseRange("bytes=10-11,99-", 10)).toBe("unsatisfiable");
  });

  test("as if it were not there", () => {
    const ignored = ["", "bytes", "bytes=", "bytes=-", "bytes=,", "bytes=a-b", "bytes=5-2", "bytes=0-1,x", "lines=0-1"];
    for (const header of [...ignored, "bytes=1", "bytes=+1-2", "bytes=0x1-2", "bytes=1-2-3", "bytes=1 - 2"]) {
      expect([header, parseRange(header, 10)]).toEqual([header, "whole"]);
    }
    expect(parseRange("bytes=0-", 0)).toBe("whole");
  });

  test("sets that cost more than they save are not honoured", () => {
    expect(parseRange("bytes=0-5,5-9", 10)).toBe("whole");
    expect(parseRange("bytes=0-,0-,0-", 10)).toBe("whole");
    const each = (n: number) => `bytes=${Array.from({ length: n }, (_, i) => `${2 * i}-${2 * i}`).join(",")}`;
    expect(parseRange(each(MAX_RANGES), 1000)).toHaveLength(MAX_RANGES);
    expect(parseRange(each(MAX_RANGES + 1), 1000)).toBe("whole");
    expect(parseRange(`bytes=0-1${",".repeat(5000)}`, 1000)).toBe("whole");
  });

  test("agrees with a model that looks at every byte", () => {
    const number = fc.integer({ min: 0, max: 40 });
    const spec = fc.oneof(
      fc.tuple(fc.constant(undefined), number),
      fc.tuple(number, fc.constant(undefined)),
      fc.tuple(number, number).map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const),
    );
    const space = fc.constantFrom("", " ", "\t", " ,");
    fc.assert(
      fc.property(fc.array(fc.tuple(spec, space), { minLength: 1, maxLength: 5 }), fc.integer({ min: 1, max: 30 }), (
        asked,
        size,
      ) => {
        const header = `bytes=${asked.map(([[a, b], s]) => `${a ?? ""}-${b ?? ""}${s}`).join(",")}`;
        const spans = parseRange(header, size);
        const bytes = typeof spans === "string"
          ? spans
          : spans.map(({ start, end }) => Array.from({ length: end - start }, (_, i) => start + i));
        expect(bytes).toEqual(model(asked.map(([s]) => s), size));
      }),
    );
  });

  test("never names a byte that is not there, whatever is sent", () => {
    const any = fc.array(fc.constantFrom("0", "1", "9", "-", ",", " ", "=", "bytes=")).map((parts) => parts.join(""));
    fc.assert(fc.property(fc.oneof(fc.string(), any.map((s) => `bytes=${s}`)), fc.nat(100), (header, size) => {
      const spans = parseRange(header, size);
      if (typeof spans === "string") return;
      let total = 0;
      for (const { start, end } of spans) {
        expect(start >= 0 && start < end && end <= size).toBe(true);
        total += end - start;
      }
      expect(total <= size).toBe(true);
    }));
  });
});
