import type { Reason } from "./lanes.ts";
import type { Growth, Quantiles, Span } from "./span.ts";

/** One bulkhead, all its keys together. */
export interface Bulkhead {
  readonly name: string;
  /** For each key, where there are keys. */
  readonly limit: number;
  readonly inUse: number;
  readonly queued: number;
  /** Seconds. */
  readonly oldestWait: number;
  readonly waiting: Quantiles;
  readonly admitted: Growth;
  readonly refusals: readonly Reason[];
  /** Permits whose lease passed while held. */
  readonly lost: Growth;
  readonly overtakes: Growth;
}

const granted = { immediate: true, queued: true } as const;

export function bulkheadsOf(span: Span): readonly Bulkhead[] {
  // One that nobody has used yet has counters, and one that was made by code has gauges first.
  const names = new Set([
    ...span.now.valuesOf("fairlead_bulkhead_limit", "bulkhead"),
    ...span.now.valuesOf("fairlead_bulkhead_total", "bulkhead"),
  ]);
  return [...names].map((name) => {
    const bulkhead = { bulkhead: name };
    const gauge = (metric: string) => span.gauge(`fairlead_bulkhead_${metric}`, bulkhead) ?? 0;
    const ends = span.counters("fairlead_bulkhead_total", "outcome", bulkhead);
    return {
      name,
      limit: gauge("limit"),
      inUse: gauge("in_use"),
      queued: gauge("queued"),
      oldestWait: gauge("oldest_wait_seconds"),
      waiting: span.quantiles("fairlead_bulkhead_wait_seconds", bulkhead),
      admitted: span.counter("fairlead_bulkhead_wait_seconds_count", bulkhead),
      refusals: ends.filter(({ label }) => !Object.hasOwn(granted, label) && label !== "cancelled"),
      lost: span.counter("fairlead_bulkhead_lost_total", bulkhead),
      overtakes: span.counter("fairlead_bulkhead_overtakes_total", bulkhead),
    };
  });
}
