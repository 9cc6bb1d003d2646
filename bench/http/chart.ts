/**
 * Small bar charts of ratios to a control.
 *
 * @module
 */
import type { Cell, Spread } from "./summary.ts";

const BAR = 16;
const GAP = 6;
const GROUP = 14;
const LEFT = 150;
const PLOT = 460;
const RIGHT = 110;
const TOP = 34;
/** Names in a row of the legend. */
const IN_ROW = 3;
export const COLOURS: readonly string[] = ["#2f6f9f", "#c2703d", "#4f8a4b", "#8a5a9e", "#7a7a7a"];

export function escape(text: string): string {
  return text.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c] ?? c);
}

/** The throughput of every arm over the control's, cell by cell. */
export function ratioChart(cells: readonly Cell[], control: string): string {
  const bars = cells.flatMap(({ arm, page, clients, throughputRatio: ratio }) => {
    return ratio === undefined ? [] : [{ group: `${page}, c=${clients}`, arm, ratio }];
  });
  const title = `Requests a second, as a ratio to ${control}: median of the rounds, the line spans them all`;
  return barChart(bars, { control, title });
}

export interface Bar {
  readonly group: string;
  readonly arm: string;
  readonly ratio: Spread;
}

/** An SVG that reads on white and on dark: grey text, no background. */
export function barChart(bars: readonly Bar[], { control, title }: { control: string; title: string }): string {
  const arms = [...new Set(bars.map((bar) => bar.arm))];
  const groups = new Map<string, Bar[]>();
  for (const bar of bars) groups.set(bar.group, [...groups.get(bar.group) ?? [], bar]);
  const largest = Math.max(1, ...bars.map((bar) => bar.ratio.max));
  const top = Math.ceil(largest * 4) / 4;
  const x = (ratio: number) => LEFT + ratio / top * PLOT;
  const out: string[] = [];
  let y = TOP;
  for (const [name, group] of groups) {
    const middle = y + (group.length * (BAR + GAP) - GAP) / 2 + 4;
    out.push(`<text x="${LEFT - 8}" y="${middle}" text-anchor="end">${escape(name)}</text>`);
    for (const { arm, ratio } of group) {
      const fill = COLOURS[arms.indexOf(arm) % COLOURS.length];
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
    out.push(`<rect x="${from}" y="${at}" width="10" height="10" fill="${COLOURS[i % COLOURS.length]}"/>`);
    out.push(`<text x="${from + 16}" y="${at + 9}">${escape(arm)}</text>`);
  });
  y += Math.floor(Math.max(0, arms.length - 1) / IN_ROW) * 18;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${LEFT + PLOT + RIGHT}" height="${y + 24}" role="img" ` +
    `font-family="system-ui, sans-serif" font-size="12" fill="#888">\n<title>${escape(title)}</title>\n` +
    `${out.join("\n")}\n</svg>\n`;
}
