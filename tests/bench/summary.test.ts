import { describe, expect, test } from "bun:test";
import { ratioChart } from "../../bench/http/chart.ts";
import { type Sample, summarize } from "../../bench/http/summary.ts";
import { order } from "../../bench/support/rounds.ts";
import { median } from "../../bench/support/statistics.ts";

function sample(arm: string, round: number, throughput: number, faults: string[] = []): Sample {
  return {
    arm,
    page: "tiny",
    clients: 100,
    round,
    requests: throughput,
    seconds: 1,
    throughput,
    mean: 1,
    p50: 1,
    p90: 1,
    p99: 150_000 / throughput,
    p999: 2,
    max: 2,
    little: 1,
    errors: { connect: 0, read: 0, write: 0, timeout: 0, status: 0 },
    bytesPerResponse: 1,
    sha256: "",
    serverCpuUs: 1,
    phpCpuUs: 1,
    foreign: 0,
    faults,
  };
}

describe("order", () => {
  test("interleaves two arms as A B, B A, B A, A B", () => {
    expect([0, 1, 2, 3].map((round) => order(["A", "B"], round).join(""))).toEqual(["AB", "BA", "BA", "AB"]);
  });

  test("gives each of three arms every place equally often in six rounds", () => {
    const places = [0, 1, 2].map((place) => [0, 1, 2, 3, 4, 5].map((round) => order(["A", "B", "C"], round)[place]));
    for (const place of places) expect(place.sort().join("")).toBe("AABBCC");
  });
});

describe("summarize", () => {
  test("compares with the control of the same round, not with its median", () => {
    const cells = summarize(
      [
        sample("n", 0, 100),
        sample("f", 0, 150),
        sample("f", 1, 400),
        sample("n", 1, 200),
        sample("n", 2, 50),
        sample("f", 2, 50),
      ],
      "n",
      2,
    );
    const cell = cells.find((one) => one.arm === "f");
    expect(cell?.throughputRatio).toEqual({ median: 1.5, min: 1, max: 2 });
    expect(cell?.throughput).toBe(150);
    expect(cells.find((one) => one.arm === "n")?.throughputRatio).toBe(undefined);
  });

  test("leaves out windows that cannot be trusted, and rounds whose control cannot", () => {
    const cells = summarize(
      [sample("n", 0, 100), sample("f", 0, 900, ["noise"]), sample("n", 1, 100, ["noise"]), sample("f", 1, 300)],
      "n",
      2,
    );
    const cell = cells.find((one) => one.arm === "f");
    expect(cell?.throughput).toBe(300);
    expect(cell?.throughputRatio).toBe(undefined);
    expect([cell?.good, cell?.windows]).toEqual([1, 2]);
  });

  test("measures the tail against clients / throughput, where clients queue", () => {
    expect(summarize([sample("n", 0, 100)], "n", 2)[0]?.p99OverIdeal).toBe(1.5);
    expect(summarize([sample("n", 0, 100)], "n", 100)[0]?.p99OverIdeal).toBe(undefined);
  });
});

test("median takes the middle, or the mean of the two in the middle", () => {
  expect(median([3, 1, 2])).toBe(2);
  expect(median([4, 1, 3, 2])).toBe(2.5);
  expect(median([])).toBeNaN();
});

test("the chart has one bar for each ratio and escapes names", () => {
  const cells = summarize([sample("a<b", 0, 100), sample("f", 0, 150)], "a<b", 2);
  const svg = ratioChart(cells, "a<b");
  expect(svg.match(/<rect [^>]*height="16"/g)?.length).toBe(1);
  expect(svg).toContain(">1.50<");
  expect(svg).toContain("a&lt;b = 1");
});
