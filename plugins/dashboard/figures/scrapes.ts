import type { Metrics } from "./metrics.ts";

/** The metrics of one moment. */
export interface Scrape {
  /** Milliseconds of the viewer's own, monotonic clock. */
  readonly at: number;
  readonly metrics: Metrics;
}

/** How a scrape follows the one before: there is none, as expected, after a long silence, or from another process. */
export type Relation = "first" | "next" | "late" | "restarted";

/** How far back (ms) quantiles look. */
export const windowMs = 10_000;

/** Keeps the scrapes that quantiles are reckoned from: those of one process, without a hole. */
export class Scrapes {
  #kept: Scrape[] = [];

  /** The scrape before the last. */
  get previous(): Scrape | undefined {
    return this.#kept.at(-2);
  }

  get last(): Scrape | undefined {
    return this.#kept.at(-1);
  }

  /** The oldest that is no more than `windowMs` older than the last; undefined while there is but one. */
  get base(): Scrape | undefined {
    return this.#kept.length > 1 ? this.#kept[0] : undefined;
  }

  push(scrape: Scrape): Relation {
    const relation = relate(this.last, scrape);
    if (relation !== "next") this.#kept = [];
    this.#kept.push(scrape);
    // One that comes a little late is still of the window: polls are never exactly on time.
    this.#kept = this.#kept.filter(({ at }) => scrape.at - at <= windowMs + 500);
    return relation;
  }
}

function relate(before: Scrape | undefined, after: Scrape): Relation {
  if (before === undefined) return "first";
  if (!sameProcess(before.metrics, after.metrics)) return "restarted";
  return after.at - before.at > windowMs || after.at <= before.at ? "late" : "next";
}

/** Whether both are of one life of the server: it has the same start, and nothing that only grows has fallen. */
export function sameProcess(before: Metrics, after: Metrics): boolean {
  const start = "process_start_time_seconds";
  if (before.value(start) !== after.value(start)) return false;
  for (const name of before.names) {
    if (!/_(?:total|count)$/.test(name)) continue;
    const then = before.value(name)!, now = after.value(name);
    if (now !== undefined && now < then) return false;
  }
  return true;
}

/** By how much counters have grown between two scrapes of one process; one that was not there before began at 0. */
export function increase(
  before: Metrics,
  after: Metrics,
  name: string,
  where: Readonly<Record<string, string>> = {},
): number {
  return Math.max(0, (after.value(name, where) ?? 0) - (before.value(name, where) ?? 0));
}
