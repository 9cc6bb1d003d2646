/**
 * Draws the waits: which share of the requests waited longer than so many laps of the line.
 *
 * @module
 */
import { FAIR } from "./arms.ts";
import { rank, sorted } from "../support/statistics.ts";
import { colour, escape, svg } from "../support/svg.ts";
import { trusted } from "./verdict.ts";
import type { Sample } from "./window.ts";

const LEFT = 64;
const WIDTH = 190;
const GAP = 34;
const TOP = 44;
const HEIGHT = 190;
const LAPS = 8;
/** The share axis is logarithmic, from 1 down to this power of ten. */
const DECADES = 3;

interface Curve {
  readonly name: string;
  readonly waits: readonly number[];
  readonly dashed?: boolean;
}

/** An SVG: a plot for each page, a curve for each server. */
export function waitsChart(samples: readonly Sample[]): string {
  const pages = [...new Set(samples.map(({ page }) => page))];
  const arms = [...new Set(samples.map(({ arm }) => arm))];
  const out: string[] = [];
  pages.forEach((page, i) => {
    const left = LEFT + i * (WIDTH + GAP);
    const curves: Curve[] = arms.map((name) => ({
      name,
      waits: trusted(samples, page, name).flatMap(({ waits }) => waits),
    }));
    const ideal = trusted(samples, page, FAIR).flatMap(({ idealWaits }) => idealWaits);
    out.push(...axes(left, page, i === 0));
    for (const { name, waits } of curves) out.push(line(left, waits, colour(arms.indexOf(name))));
    out.push(line(left, ideal, "#888", "4 3"));
  });
  const y = TOP + HEIGHT + 46;
  [...arms, `ideal of ${FAIR}`].forEach((name, i) => {
    const x = LEFT + i * 110;
    const stroke = i < arms.length ? `stroke="${colour(i)}"` : `stroke="#888" stroke-dasharray="4 3"`;
    out.push(`<path d="M${x} ${y}h16" ${stroke} stroke-width="2"/>`);
    out.push(`<text x="${x + 22}" y="${y + 4}">${escape(name)}</text>`);
  });
  const title = "Share of requests that waited longer than so many laps of the line, by page and server";
  const width = LEFT + pages.length * (WIDTH + GAP);
  return svg({ width, height: y + 16, title, parts: out.filter((text) => text !== "") });
}

const across = (left: number, laps: number) => left + Math.min(laps, LAPS) / LAPS * WIDTH;
const down = (share: number) => TOP + Math.min(DECADES, -Math.log10(share)) / DECADES * HEIGHT;

function axes(left: number, page: string, first: boolean): string[] {
  const out = [`<text x="${left + WIDTH / 2}" y="${TOP - 24}" text-anchor="middle">${escape(page)}</text>`];
  if (first) out.push(`<text x="8" y="${TOP - 8}">waited longer</text>`);
  for (let decade = 0; decade <= DECADES; decade++) {
    const y = down(10 ** -decade).toFixed(1);
    out.push(`<path d="M${left} ${y}h${WIDTH}" stroke="#888" stroke-opacity="0.25"/>`);
    if (first) out.push(`<text x="${left - 8}" y="${Number(y) + 4}" text-anchor="end">${100 / 10 ** decade} %</text>`);
  }
  for (let lap = 0; lap <= LAPS; lap += 2) {
    out.push(`<text x="${across(left, lap)}" y="${TOP + HEIGHT + 16}" text-anchor="middle">${lap}</text>`);
  }
  if (first) out.push(`<text x="${left}" y="${TOP + HEIGHT + 32}">laps of the line</text>`);
  return out;
}

/** The tail as a staircase, thinned to what can be seen. */
function line(left: number, waits: readonly number[], stroke: string, dashes?: string): string {
  if (waits.length === 0) return "";
  const ascending = sorted(waits);
  const steps: string[] = [`M${left} ${TOP}`];
  const lowest = Math.max(10 ** -DECADES, 1 / ascending.length);
  for (let exponent = 0; 10 ** -exponent >= lowest * 0.999; exponent += 0.025) {
    const share = 10 ** -exponent;
    steps.push(`L${across(left, rank(ascending, 1 - share)).toFixed(1)} ${down(share).toFixed(1)}`);
  }
  const dash = dashes === undefined ? "" : ` stroke-dasharray="${dashes}"`;
  return `<path d="${steps.join("")}" fill="none" stroke="${stroke}" stroke-width="2"${dash}/>`;
}
