/**
 * What all windows together say: medians, the gates on them, and whether the benchmark itself can be believed.
 *
 * @module
 */
import { ratios } from "../support/rounds.ts";
import { median } from "../support/statistics.ts";
import { BARGING, CONTROL, FAIR } from "./arms.ts";
import { type Gate, gate } from "./gates.ts";
import { openGates, type OpenSample } from "./open_figures.ts";
import type { NamedGate, Verdict } from "./report_types.ts";
import type { Sample } from "./window.ts";

export function trusted(samples: readonly Sample[], page: string, arm: string): Sample[] {
  return samples.filter((one) => one.page === page && one.arm === arm && one.faults.length === 0);
}

/**
 * Each gate over all windows: the median of a figure that spreads, the worst of one that must be exact, since a single
 * overtake is one too many.
 */
export function pooled(windows: readonly (readonly Gate[])[]): Gate[] {
  const first = new Map(windows.flat().reverse().map((one) => [one.name, one]));
  return [...first.values()].reverse().map(({ name, least, most }) => {
    const values = windows.flatMap((gates) => gates.filter((one) => one.name === name).map(({ value }) => value));
    const value = least === most ? Math.max(...values) : median(values);
    return gate(name, value, { ...(least === undefined ? {} : { least }), ...(most === undefined ? {} : { most }) });
  });
}

/** The median over the rounds of a ratio taken within each. */
export function against(
  samples: readonly Sample[],
  page: string,
  [arm, control]: readonly [string, string],
  pick: (sample: Sample) => number,
): number {
  return median(ratios(trusted(samples, page, arm), trusted(samples, page, control), pick));
}

export function verdict(
  samples: readonly Sample[],
  open: readonly OpenSample[],
  pages: readonly { readonly name: string; readonly p99?: number }[],
): Verdict {
  const broken: string[] = [];
  const gates: NamedGate[] = [];
  const add = (of: string, ...found: readonly Gate[]) => gates.push(...found.map((one) => ({ of, ...one })));
  for (const { name: page, p99: limit } of pages) {
    for (const arm of new Set(samples.map((sample) => sample.arm))) {
      if (trusted(samples, page, arm).length > 0) continue;
      const last = samples.findLast((sample) => sample.page === page && sample.arm === arm);
      broken.push(`${page}, ${arm}: no window could be trusted: ${last?.faults.join("; ") ?? "none was taken"}`);
    }
    const barging = pooled(trusted(samples, page, BARGING).map((sample) => sample.gates));
    if (barging.length > 0 && barging.every(({ holds }) => holds)) {
      broken.push(`${page}: ${BARGING} holds every gate, so that they tell nothing`);
    }
    const fair = trusted(samples, page, FAIR);
    if (fair.length === 0) continue;
    add(page, ...pooled(fair.map((sample) => sample.gates)));
    if (barging.length > 0) {
      const pair = [FAIR, BARGING] as const;
      const throughput = against(samples, page, pair, (sample) => sample.throughput);
      const tail = 1 / against(samples, page, pair, (sample) => sample.measured.p99);
      add(page, gate(`req/s of ${FAIR} / ${BARGING}`, throughput, { least: 0.99 }));
      add(page, gate(`P99 of ${BARGING} / ${FAIR}`, tail, { least: 2 }));
    }
    // Where the ideal is out of reach for everybody, the control says what is possible.
    if (limit === undefined && trusted(samples, page, CONTROL).length > 0) {
      const tail = against(samples, page, [FAIR, CONTROL], (sample) => sample.measured.p99);
      add(page, gate(`P99 of ${FAIR} / ${CONTROL}`, tail, { most: 1 }));
    }
  }
  for (const arm of new Set(open.map((sample) => sample.arm))) {
    if (arm === CONTROL) continue;
    for (const share of new Set(open.map((sample) => sample.share))) {
      const windows = open.filter((sample) => sample.arm === arm && sample.share === share);
      add(`open, ${arm}`, ...pooled(windows.map((sample) => openGates(sample, arm === "classes"))));
    }
  }
  return { broken, gates };
}
