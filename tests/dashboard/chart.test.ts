import { describe, expect, test } from "bun:test";
import type { Point } from "../../plugins/dashboard/figures/history.ts";
import { niceBytes, niceTop } from "../../plugins/dashboard/page/axis.ts";
import { chart, type ChartOptions } from "../../plugins/dashboard/page/chart.ts";
import { elements, textOf } from "./views.ts";

function draw(points: readonly (readonly Point[])[], more: Partial<ChartOptions> = {}) {
  const figure = chart({
    title: "Requests",
    note: "a second",
    series: points.map((points, i) => ({ name: `n${i}`, style: `s${i}`, points })),
    show: (value) => `${value}/s`,
    time: { now: 60_000, since: 0, cursor: undefined },
    ...more,
  });
  const all = [...elements([figure])];
  const legend = all.find(({ attributes }) => attributes["class"] === "legend")!;
  return {
    paths: all.filter(({ tag }) => tag === "path").map(({ attributes }) => attributes["d"]),
    label: all.find(({ tag }) => tag === "svg")!.attributes["aria-label"],
    legend: textOf([legend]),
    text: textOf([figure]),
  };
}

describe("chart", () => {
  test("draws lines with holes, and says them in words", () => {
    const { paths, label, legend, text } = draw([[[0, 0], [15_000, 10], [30_000, undefined], [45_000, 5], [
      60_000,
      2.5,
    ]]]);
    expect(paths).toEqual(["M0 80L75 0M225 40L300 60"]);
    expect(label).toBe("Requests, last 60 s. Now: n0 2.5/s. Highest: 10/s.");
    expect(legend).toBe("n0 2.5/s");
    expect(text).toContain("10/s 60 s ago now");
  });

  test("stands bands on one another", () => {
    const { paths } = draw([[[0, 5], [60_000, 5]], [[0, 5], [60_000, 0]]], { stacked: true });
    expect(paths).toEqual(["M0 40L300 40L300 80L0 80Z", "M0 0L300 40L300 40L0 40Z"]);
  });

  test("a lone point is seen, nothing is no path, and no number leaves the plot", () => {
    expect(draw([[[60_000, 1]], []]).paths).toEqual(["M300 0h0.01", ""]);
    expect(draw([[[0, -5], [60_000, 1]]]).paths).toEqual(["M0 80L300 0"]);
    expect(draw([[[60_000, undefined]]]).label).toBe("Requests, last 60 s. Now: n0 –. Highest: 0/s.");
  });

  test("says the values under the cursor", () => {
    const time = { now: 60_000, since: 0, cursor: 16_000 };
    const { legend, paths, label } = draw([[[0, 0], [15_000, 10], [30_000, 4]]], { time });
    expect(legend).toBe("n0 10/s");
    expect(paths.at(-1)).toBe("M80 0V80");
    expect(label).toBe("Requests, last 60 s. 44 s ago: n0 10/s. Highest: 10/s.");
  });

  test("axes end at plain numbers", () => {
    expect([0, 0.0011, 1, 1.2, 7, 95, 230, 1e9, Infinity, NaN].map(niceTop)).toEqual(
      [1, 0.0015, 1, 1.5, 8, 100, 300, 1e9, 1, 1],
    );
    expect([0, 3, 1024, 1025].map(niceBytes)).toEqual([1, 4, 1024, 2048]);
  });
});
