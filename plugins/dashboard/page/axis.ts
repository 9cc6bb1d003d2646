import { historyMs } from "../figures/history.ts";

/** What time a chart shows, in ms of the clock of its points. */
export interface ChartTime {
  readonly now: number;
  /** When the first look was. */
  readonly since: number;
  /** The moment pointed at, if any: the legends say its values. */
  readonly cursor: number | undefined;
}

/** The least time (ms) an axis spans: who has just opened the page sees something of it. */
const leastSpan = 60_000;

/** How much time (ms) the axes span now. */
export function spanOf({ now, since }: ChartTime): number {
  return Math.min(historyMs, Math.max(leastSpan, now - since));
}

/** The first end of an axis at or above a value: a plain number times a power of ten. */
export function niceTop(value: number): number {
  if (!(value > 0) || !Number.isFinite(value)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((factor) => factor * power).find((top) => top >= value * 0.999_999)!;
}

/** As {@linkcode niceTop}, of bytes: a power of two. */
export function niceBytes(value: number): number {
  return value > 1 && Number.isFinite(value) ? 2 ** Math.ceil(Math.log2(value)) : 1;
}
