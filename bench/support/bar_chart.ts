/**
 * Small bar charts of ratios to a control.
 *
 * @module
 */
import type { Spread } from "./statistics.ts";
import { colour, escape, svg } from "./svg.ts";

const BAR = 16;
const GAP = 6;
const GROUP = 14;
const LEFT = 150;
const PLOT = 460;
const RIGHT = 110;
const TOP = 34;
/** Names in a row of the legend. */
const IN_ROW = 3;

export interface Bar {
  readonly group: string;
  readonly arm: string;
  readonly ratio: Spread;
}

/** An SVG: a bar for each median, a line over its extremes. */
export function barChart(bars: readonly Bar[], { control, title }: { control: string; title: string }): string {
  const arms = [...new Set(bars.map((bar) => bar.arm))];
  const groups = Map.groupBy(bars, (bar) => bar.group);
  const largest = Math.max(1, ...bars.map((bar) => bar.ratio.max));
  const top = Math.ceil(largest * 4) / 4;
  const x = (ratio: number) => LEFT + ratio / top * PLOT;
  const out: string[] = [];
  let y = TOP;
  for (const [name, group] of groups) {
    const middle = y + (group.length * (BAR + GAP) - GAP) / 2 + 4;
    out.push(`<text x="${LEFT - 8}" y="${middle}" text-anchor="end">${escape(name)}</text>`);
    for (const { arm, ratio } of group) {
      const fill = colour(arms.indexOf(arm));
      const at = y + BAR / 2;
      out.push(
        `<rect x="${LEFT}" y="${y}" width="${(x(ratio.median) - LEFT).toFixed(1)}" height="${BAR}" fill="${fill}"/>`,
      );
      out.push(`<path d="M${x(ratio.min).toFixed(1)} ${at}H${x(ratio.max).toFixed(1)}" stroke="#888"/>`);
      out.push(`<text x="${(x(ratio.max) + 6).toFixed(1)}" y="${at + 4}">${ratio.median.toFixed(2)}</text>`);
      y += BAR + GAP;
    }
    y += GROUP;
  }
  const one = x(1).toFixed(1);
  out.push(`<path d="M${one} ${TOP - 8}V${y - GROUP}" stroke="#888" stroke-dasharray="3 3"/>`);
  out.push(`<text x="${one}" y="${TOP - 14}" text-anchor="middle">${escape(control)} = 1</text>`);
  arms.forEach((arm, i) => {
    const [from, at] = [LEFT + i % IN_ROW * 170, y + Math.floor(i / IN_ROW) * 18];
    out.push(`<rect x="${from}" y="${at}" width="10" height="10" fill="${colour(i)}"/>`);
    out.push(`<text x="${from + 16}" y="${at + 9}">${escape(arm)}</text>`);
  });
  y += Math.floor(Math.max(0, arms.length - 1) / IN_ROW) * 18;
  return svg({ width: LEFT + PLOT + RIGHT, height: y + 24, title, parts: out });
}
