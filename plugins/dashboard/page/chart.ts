import type { Point } from "../figures/history.ts";
import { showSeconds } from "../figures/units.ts";
import { type ChartTime, niceTop, spanOf } from "./axis.ts";
import { type ElementNode, h } from "./node.ts";

/** One line, or one band of a stack, of a chart. */
export interface Series {
  /** As the legend and screen readers say it. */
  readonly name: string;
  /** The class that gives it its colour and dashes. */
  readonly style: string;
  readonly points: readonly Point[];
  /** How the newest value is said, where `show` does not say it best. */
  readonly newest?: string | undefined;
}

export interface ChartOptions {
  readonly title: string;
  /** What exactly is shown, in a few words. */
  readonly note: string;
  readonly series: readonly Series[];
  readonly show: (value: number) => string;
  readonly time: ChartTime;
  /** The series are parts of a whole and stand on one another. */
  readonly stacked?: boolean;
  /** The axis ends no lower than here. */
  readonly least?: number;
  /** Where an axis that must reach a value ends. */
  readonly top?: (value: number) => number;
}

const width = 300, height = 80;

/** A chart of the last minutes with its legend, which says the newest values, or those at the cursor. */
export function chart(options: ChartOptions): ElementNode {
  const { title, note, series, show, time, stacked = false, least = 0, top: topOf = niceTop } = options;
  const span = spanOf(time);
  const drawn = stacked ? stack(series.map(({ points }) => points)) : series.map(({ points }) => points);
  const highest = drawn.reduce((most, points) => points.reduce((m, [, value]) => Math.max(m, value ?? 0), most), 0);
  const top = topOf(Math.max(highest, least));
  const x = (at: number) => round(width - (time.now - at) / span * width);
  const place: Place = ([at, value]) => `${x(at)} ${round(height - Math.min(1, Math.max(0, value) / top) * height)}`;
  const paths = series.map(({ style }, i) => {
    const floor = stacked ? drawn[i - 1] : undefined;
    const d = runs(drawn[i]!).map((run) => stacked ? band(run, floor, place) : line(run, place)).join("");
    return h("path", { class: `${stacked ? "band" : "line"} ${style}`, d });
  });
  const { cursor } = time;
  const said = series.map(({ name, style, points, newest }) => {
    const value = cursor === undefined ? points.at(-1)?.[1] : nearest(points, cursor)?.[1];
    return { name, style, text: cursor === undefined && newest || (value === undefined ? "–" : show(value)) };
  });
  const ago = showSeconds(Math.round(span / 1000));
  const when = cursor === undefined ? "Now" : `${showSeconds(Math.round((time.now - cursor) / 1000))} ago`;
  const label = `${title}, last ${ago}. ${when}: ${
    said.map(({ name, text }) => `${name} ${text}`).join(", ")
  }. Highest: ${show(highest)}.`;
  return h(
    "figure",
    { class: "chart" },
    h("figcaption", {}, h("h3", {}, title), h("p", { class: "note" }, note)),
    h(
      "div",
      { class: "plot" },
      h("span", { class: "top", "aria-hidden": "true" }, show(top)),
      h(
        "svg",
        {
          viewBox: `0 0 ${width} ${height}`,
          preserveAspectRatio: "none",
          role: "img",
          tabindex: 0,
          "aria-label": label,
        },
        paths,
        cursor !== undefined && h("path", { class: "cursor", d: `M${x(cursor)} 0V${height}` }),
      ),
      h(
        "span",
        { class: "ends", "aria-hidden": "true" },
        h("span", {}, `${ago} ago`),
        h("span", {}, cursor === undefined ? "now" : when),
      ),
    ),
    h(
      "ul",
      { class: "legend" },
      said.map(({ name, style, text }) =>
        h("li", {}, h("i", { class: `swatch ${style}`, "aria-hidden": "true" }), `${name} `, h("b", {}, text))
      ),
    ),
  );
}

/** The point whose moment is nearest. */
function nearest(points: readonly Point[], at: number): Point | undefined {
  return points.reduce<Point | undefined>(
    (best, point) => best === undefined || Math.abs(point[0] - at) < Math.abs(best[0] - at) ? point : best,
    undefined,
  );
}

/** Each series on top of those before it. */
function stack(all: readonly (readonly Point[])[]): (readonly Point[])[] {
  const sums: number[] = [];
  return all.map((points) =>
    points.map(([at, value], i): Point => {
      if (value !== undefined) sums[i] = (sums[i] ?? 0) + value;
      return [at, value === undefined ? undefined : sums[i]];
    })
  );
}

type Place = (point: Known) => string;

type Known = readonly [at: number, value: number];

/** What lies between the holes. */
function runs(points: readonly Point[]): Known[][] {
  const all: Known[][] = [[]];
  for (const [at, value] of points) {
    if (value !== undefined) all.at(-1)!.push([at, value]);
    else if (all.at(-1)!.length > 0) all.push([]);
  }
  return all.filter((run) => run.length > 0);
}

function line(run: readonly Known[], place: Place): string {
  // A single point is no line: a round end of no length is seen.
  return `M${run.map(place).join("L")}${run.length === 1 ? "h0.01" : ""}`;
}

function band(run: readonly Known[], floor: readonly Point[] | undefined, place: Place): string {
  const below = new Map(floor);
  const back = run.toReversed().map(([at]) => place([at, below.get(at) ?? 0]));
  return `M${run.map(place).join("L")}L${back.join("L")}Z`;
}

function round(n: number): number {
  return Math.round(n * 100) / 100;
}
