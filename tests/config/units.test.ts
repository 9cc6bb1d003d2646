import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import * as z from "zod";
import { duration, size } from "../../core/config/units.ts";

const fails = (schema: z.ZodType, value: unknown) =>
  schema.safeParse(value).error?.issues.map((issue) => issue.message);

describe("duration", () => {
  test("reads every unit", () => {
    const read = (value: unknown) => duration().parse(value);
    expect(["250ms", "1.5s", "2m", "1h", "0", 0, "596h", "1.005s", "0.5ms"].map(read)).toEqual(
      [250, 1500, 120_000, 3_600_000, 0, 0, 2_145_600_000, 1005, 0.5],
    );
  });

  test("refuses anything else, and says what it wants", () => {
    const message = 'expected a duration such as "250ms", "1.5s" or "2m"';
    const wrong = [10, "10", "-1s", "1 s", "1d", "s", "", "1.s", ".5s", "1e3s", NaN, true, null, "1s\n", "Infinitys"];
    for (const value of wrong) expect([value, fails(duration(), value)]).toEqual([value, [message]]);
  });

  test("refuses what a timer cannot hold", () => {
    expect(fails(duration(), "597h")).toEqual(["expected a duration of at most 596h"]);
    expect(fails(duration(), "9".repeat(400) + "h")).toEqual(["expected a duration of at most 596h"]);
  });

  test("a fallback is written as in the file", () => {
    const schema = z.strictObject({
      a: duration("10s"),
      b: duration().prefault("2m"),
      c: duration().optional(),
      d: duration(0),
    });
    expect(schema.parse({})).toEqual({ a: 10_000, b: 120_000, d: 0 });
  });

  test("any number of ms survives being written", () => {
    fc.assert(fc.property(fc.nat(2 ** 31 - 1), (ms) => {
      expect(duration().parse(`${ms}ms`)).toBe(ms);
      expect(duration().parse(`${ms / 1000}s`)).toBe(ms);
    }));
  });

  test("has a JSON Schema", () => {
    expect({ ...z.toJSONSchema(duration("10s"), { io: "input" }) } as unknown).toEqual({
      $schema: "https://json-schema.org/draft/2020-12/schema",
      title: "duration",
      default: "10s",
      anyOf: [
        { type: "string", pattern: "^(?:0|\\d+(?:\\.\\d+)?(?:ms|s|m|h))$" },
        { type: "number", const: 0 },
      ],
    });
  });
});

describe("size", () => {
  test("reads every unit, 1024 based", () => {
    const read = (value: unknown) => size().parse(value);
    expect(["512B", "64KB", "10MB", "1GB", "1.5KB", 1024, 0, "0B"].map(read)).toEqual(
      [512, 65_536, 10_485_760, 1_073_741_824, 1536, 1024, 0, 0],
    );
  });

  test("refuses anything else, and says what it wants", () => {
    const message = 'expected a size such as "512B", "64KB" or "10MB", or a number of bytes';
    for (const value of [-1, 1.5, "1024", "10mb", "1TB", "-1KB", "0.5B", "", NaN, Infinity, false, 2 ** 60]) {
      expect([value, fails(size(), value)?.[0]]).toEqual([value, message]);
    }
    expect(fails(size(), "9007199254740992B")).toEqual(["expected a size of at most 8388607GB"]);
    expect(size().parse("8388607GB")).toBe(8388607 * 1024 ** 3);
  });

  test("a fallback is written as in the file", () => {
    expect(z.object({ a: size("8MB"), b: size(100) }).parse({})).toEqual({ a: 8_388_608, b: 100 });
  });
});
