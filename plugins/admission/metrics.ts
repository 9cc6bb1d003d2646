import type { Counter, Meter, Sample } from "../../core/contracts/meter.ts";
import type { FairGate } from "./fair_gate.ts";
import type { LaneMeter } from "./lane.ts";

/** Powers of two from a quarter of a millisecond to 16.384 s: fine enough to see waits that come in laps. */
const bounds: readonly number[] = Array.from({ length: 17 }, (_, i) => 0.00025 * 2 ** i);

export interface AdmissionMeter {
  lane(name: string): LaneMeter;
  overtakes(name: string): Counter;
}

/** Declares the admission metrics; the gauges read `gates` when scraped. */
export function admissionMeter(meter: Meter, gates: Iterable<FairGate>): AdmissionMeter {
  const waits = meter.histograms("fairlead_admission_wait_seconds", "Wait of those let in", bounds, ["lane"]);
  const totals = meter.counters("fairlead_admission_total", "Admissions by how they ended", ["lane", "outcome"]);
  const overtakes = meter.counters("fairlead_admission_overtakes_total", "Grants past an older waiter", ["lane"]);
  const gauge = (name: string, help: string, read: (gate: FairGate) => number) =>
    meter.gauges(`fairlead_admission_${name}`, help, ["lane"], function* (): Generator<Sample> {
      for (const gate of gates) yield [[gate.name], read(gate)];
    });
  gauge("limit", "Permits there are", (gate) => gate.limit);
  gauge("in_use", "Permits out; those who wait are not among them", (gate) => gate.used);
  gauge("queued", "Waiters in line", (gate) => gate.queued);
  gauge("oldest_wait_seconds", "How long the oldest waiter has waited", (gate) => gate.oldestWait / 1000);
  return {
    lane: (name) => ({
      wait: waits.with(name),
      total: {
        immediate: totals.with(name, "immediate"),
        queued: totals.with(name, "queued"),
        shed_full: totals.with(name, "shed_full"),
        shed_grace: totals.with(name, "shed_grace"),
        shed_predicted: totals.with(name, "shed_predicted"),
        shed_class: totals.with(name, "shed_class"),
        shed_evicted: totals.with(name, "shed_evicted"),
        shed_codel: totals.with(name, "shed_codel"),
        key_cap: totals.with(name, "key_cap"),
        deadline: totals.with(name, "deadline"),
        cancelled: totals.with(name, "cancelled"),
        drained: totals.with(name, "drained"),
      },
    }),
    overtakes: (name) => overtakes.with(name),
  };
}
