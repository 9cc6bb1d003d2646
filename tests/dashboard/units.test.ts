import { describe, expect, test } from "bun:test";
import { showBytes, showCount, showPercent, showRate, showSeconds } from "../../plugins/dashboard/figures/units.ts";

describe("units", () => {
  test("counts", () => {
    expect([0, 7, 999, 1000, 1234, 999_499, 999_500, 4.56e6, 1e15, 0.123, 12.34, undefined, NaN].map(showCount))
      .toEqual(
        ["0", "7", "999", "1k", "1.23k", "999k", "1.00M", "4.56M", "1000T", "0.12", "12.3", "–", "–"],
      );
    expect([showRate(12.345), showRate(undefined)]).toEqual(["12.3/s", "–"]);
  });

  test("times", () => {
    expect(
      [0, 0.000_085, 0.001_25, 0.25, 0.9996, 3.4, 99, 125, 3600, 11_040, 183_600, undefined, Infinity].map(showSeconds),
    )
      .toEqual(
        [
          "0 s",
          "85 µs",
          "1.25 ms",
          "250 ms",
          "1.00 s",
          "3.40 s",
          "99 s",
          "2 min 5 s",
          "1 h 0 min",
          "3 h 4 min",
          "2 d 3 h",
          "–",
          "–",
        ],
      );
  });

  test("sizes and shares", () => {
    expect([0, 512, 1536, 123 * 2 ** 20, undefined].map(showBytes)).toEqual([
      "0 B",
      "512 B",
      "1.50 KiB",
      "123 MiB",
      "–",
    ]);
    expect([0, 0.1234, 1, undefined].map(showPercent)).toEqual(["0 %", "12.3 %", "100 %", "–"]);
  });
});
