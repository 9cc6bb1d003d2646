import type { Counter, Histogram, Meter, Sample } from "../../core/contracts/meter.ts";
import { thenable } from "../../core/hooks.ts";
import type { Awaitable } from "../../core/plugin.ts";
import type { Limits } from "./limits.ts";
import { baseName } from "./name.ts";
import type { RefusalLog } from "./refusal_log.ts";
import type {
  BulkheadAnswer,
  BulkheadAsk,
  BulkheadCounts,
  BulkheadDenialReason,
  BulkheadEvents,
  BulkheadStore,
} from "./store.ts";

/** Powers of two from a quarter of a millisecond to 65.536 s: fine enough to see waits that come in laps. */
const bounds: readonly number[] = Array.from({ length: 19 }, (_, i) => 0.00025 * 2 ** i);

/** Bulkheads with numbers of their own; those beyond share `_other`, as in every family of metrics. */
const most = 500;

/** What one bulkhead's asks are counted by, all its keys together. */
interface Counters {
  readonly wait: Histogram;
  readonly immediate: Counter;
  readonly queued: Counter;
  readonly denied: Readonly<Record<BulkheadDenialReason, Counter>>;
  readonly mismatches: Counter;
  /** The limit that the last caller named. */
  limit: number;
}

/** What counts a store's events. Children are made on first use and kept. */
export class BulkheadMeter implements BulkheadEvents {
  readonly #children = new Map<string, Counters>();
  readonly #make: (name: string) => Counters;
  readonly #lost: (name: string) => void;
  readonly #overtaken: (name: string) => void;

  constructor(meter: Meter, limits: Limits) {
    const waits = meter.histograms("fairlead_bulkhead_wait_seconds", "Wait of those let in", bounds, ["bulkhead"]);
    const totals = meter.counters("fairlead_bulkhead_total", "Asks for permits by how they ended", [
      "bulkhead",
      "outcome",
    ]);
    const lost = meter.counters("fairlead_bulkhead_lost_total", "Permits whose lease passed while held", ["bulkhead"]);
    const overtakes = meter.counters("fairlead_bulkhead_overtakes_total", "Grants past an older waiter", ["bulkhead"]);
    const mismatches = meter.counters("fairlead_bulkhead_mismatches_total", "Asks that named another limit", [
      "bulkhead",
    ]);
    this.#lost = (name) => lost.with(baseName(name)).inc();
    this.#overtaken = (name) => overtakes.with(baseName(name)).inc();
    this.#make = (name) => ({
      wait: waits.with(name),
      immediate: totals.with(name, "immediate"),
      queued: totals.with(name, "queued"),
      denied: {
        full: totals.with(name, "full"),
        queue_full: totals.with(name, "queue_full"),
        timeout: totals.with(name, "timeout"),
        cancelled: totals.with(name, "cancelled"),
        deadlock: totals.with(name, "deadlock"),
        draining: totals.with(name, "draining"),
        unavailable: totals.with(name, "unavailable"),
      },
      mismatches: mismatches.with(name),
      limit: limits.of(name)?.maxConcurrent ?? 0,
    });
    // They must be 0, and are seen to be.
    for (const [name] of limits) this.#of(name);
  }

  lost(name: string): void {
    this.#lost(name);
  }

  overtaken(name: string): void {
    this.#overtaken(name);
  }

  answered(ask: BulkheadAsk, answer: BulkheadAnswer): void {
    const counters = this.#of(baseName(ask.name));
    if (counters.limit !== ask.limit) {
      if (counters.limit !== 0) counters.mismatches.inc();
      counters.limit = ask.limit;
    }
    if (!answer.granted) return counters.denied[answer.reason].inc();
    (answer.waitedMs === 0 ? counters.immediate : counters.queued).inc();
    counters.wait.observe(answer.waitedMs / 1000);
  }

  #of(name: string): Counters {
    let counters = this.#children.get(name);
    if (counters === undefined) {
      const label = this.#children.size < most ? name : "_other";
      counters = this.#children.get(label) ?? this.#make(label);
      this.#children.set(label, counters);
    }
    return counters;
  }
}

/** `store`, with what it answers counted by `meter`, and what it refuses told to `refusals`. */
export function metered(store: BulkheadStore, meter: BulkheadMeter, refusals: RefusalLog): BulkheadStore {
  const answered = (ask: BulkheadAsk, answer: BulkheadAnswer) => {
    meter.answered(ask, answer);
    if (!answer.granted) refusals.refused(ask, answer);
  };
  return {
    kind: store.kind,
    acquire(ask): Awaitable<BulkheadAnswer> {
      const answer = store.acquire(ask);
      if (!thenable(answer)) {
        answered(ask, answer as BulkheadAnswer);
        return answer;
      }
      return (answer as Promise<BulkheadAnswer>).then((settled) => {
        answered(ask, settled);
        return settled;
      });
    },
    counts: (name) => store.counts(name),
    resize: (name, limit) => store.resize(name, limit),
    close: () => store.close(),
  };
}

/** Declares the gauges; `read` gives the counts of each bulkhead when they are scraped. */
export function bulkheadGauges(meter: Meter, read: () => Iterable<readonly [name: string, BulkheadCounts]>): void {
  const gauge = (name: string, help: string, figure: (counts: BulkheadCounts) => number) =>
    meter.gauges(`fairlead_bulkhead_${name}`, help, ["bulkhead"], function* (): Generator<Sample> {
      for (const [label, counts] of read()) yield [[label], figure(counts)];
    });
  gauge("limit", "Permits there are, for each key where there are keys", (counts) => counts.limit);
  gauge("in_use", "Permits out; those who wait are not among them", (counts) => counts.active);
  gauge("queued", "Waiters in line", (counts) => counts.queued);
  gauge("oldest_wait_seconds", "How long the oldest waiter has waited", (counts) => counts.oldestWaitMs / 1000);
}
