import type { Frame } from "./frame.ts";
import { sum } from "./lanes.ts";
import type { Growth } from "./span.ts";

/** Everything that has a line. */
const lines = ({ lanes, databases, bulkheads }: Frame) => [...lanes, ...databases, ...bulkheads];

/** Everybody who was turned away, wherever he waited. */
export function turnedAway(frame: Frame): Growth {
  const { perSecond } = frame.traffic.all;
  const nothing: Growth = { total: 0, increase: 0, perSecond: perSecond === undefined ? undefined : 0 };
  return sum([nothing, ...lines(frame).flatMap(({ refusals }) => refusals)]);
}

/** Grants past an older waiter, in every line. */
export function overtakesOf(frame: Frame): Growth {
  return sum(lines(frame).map(({ overtakes }) => overtakes));
}

/** How many wait now, and how long the oldest has, in seconds. */
export function inLine(frame: Frame): { readonly count: number; readonly oldest: number } {
  const { lanes, databases, bulkheads } = frame;
  const sessions = databases.flatMap(({ clients }) => clients.filter(({ name }) => name === "waiting"));
  const count = [...lanes, ...bulkheads].reduce((total, { queued }) => total + queued, 0) +
    sessions.reduce((total, one) => total + one.count, 0);
  return { count, oldest: Math.max(0, ...lines(frame).map(({ oldestWait }) => oldestWait)) };
}
