import type { Criticality } from "../../core/contracts/gates.ts";
import type { Counter, Histogram, Meter, Sample } from "../../core/contracts/meter.ts";
import { classes } from "./classes.ts";
import type { FairGate } from "./fair_gate.ts";
import { Fairness } from "./fairness.ts";
import type { SessionLines } from "./session_lines.ts";
import type { Steering } from "./steering.ts";

/** Powers of two from a quarter of a millisecond to 16.384 s: fine enough to see waits that come in laps. */
const bounds: readonly number[] = Array.from({ length: 17 }, (_, i) => 0.00025 * 2 ** i);

/** How an admission can end; a label of `fairlead_admission_total`. */
export const outcomes = [
  "immediate",
  "queued",
  "exempt",
  "shed_full",
  "shed_grace",
  "shed_predicted",
  "shed_class",
  "shed_evicted",
  "shed_codel",
  "key_cap",
  "deadline",
  "cancelled",
  "drained",
] as const;

export type Outcome = (typeof outcomes)[number];

/** What is counted of one class of one lane. */
export interface ClassMeter {
  readonly wait: Histogram;
  readonly total: Readonly<Record<Outcome, Counter>>;
}

/** What is counted of one lane. A class is not there before somebody belongs to it: most servers have one. */
export interface LaneMeter {
  of(criticality: Criticality): ClassMeter;
  /** Told of each grant to somebody who waited. */
  readonly fairness: Fairness;
}

export interface AdmissionMeter {
  lane(name: string): LaneMeter;
  overtakes(name: string): Counter;
}

/** What is read when it is scraped. */
export interface Scraped {
  readonly gates: Iterable<FairGate>;
  readonly now: () => number;
  readonly sessions: SessionLines | undefined;
  readonly steered: () => Iterable<readonly [lane: string, Steering]>;
  /** Whether classes, and keys, are told apart. */
  readonly classed: boolean;
  readonly keyed: boolean;
}

/** Declares the admission metrics; the gauges read `scraped` when scraped. */
export function admissionMeter(meter: Meter, scraped: Scraped): AdmissionMeter {
  const { gates, sessions, steered } = scraped;
  const waits = meter.histograms("fairlead_admission_wait_seconds", "Wait of those let in", bounds, ["lane", "class"]);
  const totals = meter.counters("fairlead_admission_total", "Admissions by how they ended", [
    "lane",
    "class",
    "outcome",
  ]);
  const overtakes = meter.counters("fairlead_admission_overtakes_total", "Grants past an older waiter", ["lane"]);
  const gauge = (name: string, help: string, read: (gate: FairGate) => number) =>
    meter.gauges(`fairlead_admission_${name}`, help, ["lane"], function* (): Generator<Sample> {
      for (const gate of gates) yield [[gate.name], read(gate)];
    });
  gauge("limit", "Permits there are", (gate) => gate.limit);
  gauge("in_use", "Permits out; those who wait are not among them", (gate) => gate.used);
  gauge("queued", "Waiters in line", (gate) => gate.queued);
  gauge("oldest_wait_seconds", "How long the oldest waiter has waited", (gate) => gate.oldestWait / 1000);
  gauge("overloaded", "1 while the line has stood for too long", (gate) => gate.overloaded ? 1 : 0);
  meter.gauges(
    "fairlead_admission_class_queued",
    "Waiters in line by class, where classes are told apart",
    ["lane", "class"],
    function* (): Generator<Sample> {
      if (!scraped.classed) return;
      for (const gate of gates) for (const name of classes) yield [[gate.name, name], gate.queuedOf(name)];
    },
  );
  meter.gauges(
    "fairlead_admission_keys",
    "Keys that wait or hold permits, where keys are told apart",
    ["lane"],
    function* (): Generator<Sample> {
      if (scraped.keyed) { for (const gate of gates) yield [[gate.name], gate.keys]; }
    },
  );
  meter.gauges(
    "fairlead_admission_adaptive_limit",
    "Permits that the adaptive limit finds right; with adaptive = shadow nothing follows it",
    ["lane"],
    function* (): Generator<Sample> {
      for (const [lane, { adaptive }] of steered()) yield [[lane], adaptive.advice];
    },
  );
  meter.gauges(
    "fairlead_admission_baseline_seconds",
    "Service time without company, as the adaptive limit knows it",
    ["lane"],
    function* (): Generator<Sample> {
      for (const [lane, { adaptive: { baseline } }] of steered()) {
        if (baseline !== undefined) yield [[lane], baseline / 1000];
      }
    },
  );
  meter.gauge("fairlead_admission_sessions", "Sessions at work, with serialize", () => sessions?.keys ?? 0);
  meter.gauge(
    "fairlead_admission_sessions_queued",
    "Requests that wait for another of their session, with serialize",
    () => sessions?.queued ?? 0,
  );

  const fairness = new Map<string, Fairness>();
  meter.gauges(
    "fairlead_admission_fairness_ratio",
    "99th percentile of wait over that of an ideal line, of the last 10 s, while it is saturated; 1 is ideal",
    ["lane"],
    function* (): Generator<Sample> {
      for (const gate of gates) {
        const ratio = fairness.get(gate.name)?.ratio(scraped.now(), gate.limit);
        if (ratio !== undefined) yield [[gate.name], ratio];
      }
    },
  );

  const make = (lane: string, name: Criticality): ClassMeter => ({
    wait: waits.with(lane, name),
    total: Object.fromEntries(outcomes.map((outcome) => [outcome, totals.with(lane, name, outcome)])) as Record<
      Outcome,
      Counter
    >,
  });
  return {
    lane(name) {
      const made = new Map<Criticality, ClassMeter>([["critical", make(name, "critical")]]);
      const fair = new Fairness();
      fairness.set(name, fair);
      return {
        fairness: fair,
        of(criticality) {
          let known = made.get(criticality);
          if (known === undefined) made.set(criticality, known = make(name, criticality));
          return known;
        },
      };
    },
    overtakes: (name) => overtakes.with(name),
  };
}
