import { describe, expect, test } from "bun:test";
import { BargingGate } from "../../plugins/admission/barging_gate.ts";
import { FairGate } from "../../plugins/admission/fair_gate.ts";
import type { GateOptions } from "../../plugins/admission/gate_options.ts";
import { VirtualClock } from "./virtual_clock.ts";

const clients = 100;
const permits = 2;
const serviceMs = 1;

interface Result {
  /** Time in the system, in ms, ascending. */
  readonly sojourns: readonly number[];
  /** What every client would see if all were treated alike: clients over throughput. */
  readonly ideal: number;
  readonly mean: number;
  readonly served: readonly number[];
  readonly neverWaited: number;
  readonly overtakes: number;
}

/** Clients that ask again as soon as they are answered; a share of them is quick enough to come before the woken waiter. */
function run(Gate: new (options: GateOptions) => FairGate, quick: number): Result {
  const clock = new VirtualClock();
  const gate = new Gate({ limit: permits, clock });
  const sojourns: number[] = [];
  const served = Array.from({ length: clients }, () => 0);
  const random = mulberry32(1);
  let neverWaited = 0;
  const warmUp = 2_000;
  const ends = warmUp + 10_000;

  const ask = (client: number) => {
    const asked = clock.time;
    const serve = (waited: number) => {
      clock.setTimer(serviceMs, () => {
        if (clock.time > warmUp) {
          sojourns.push(clock.time - asked);
          served[client]!++;
          if (waited < serviceMs / 2) neverWaited++;
        }
        gate.leave();
        if (random() < quick) ask(client);
        else clock.setTimer(0, () => ask(client));
      });
    };
    if (gate.enter({ onGrant: serve, onRefuse() {} }) === "granted") serve(0);
  };
  for (let client = 0; client < clients; client++) ask(client);
  while (clock.time < ends && clock.step());
  sojourns.sort((a, b) => a - b);
  return {
    sojourns,
    ideal: clients / (sojourns.length / (clock.time - warmUp)),
    mean: sojourns.reduce((sum, ms) => sum + ms, 0) / sojourns.length,
    served,
    neverWaited: neverWaited / sojourns.length,
    overtakes: gate.counts.overtakes,
  };
}

function mulberry32(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const at = (sorted: readonly number[], q: number) => sorted[Math.ceil(q * sorted.length) - 1]!;
/** The gate a fair discipline has to pass. */
const fairEnough = ({ sojourns, ideal }: Result) => at(sojourns, 0.99) / ideal <= 1.02;

describe(`${clients} clients in a closed loop on ${permits} permits`, () => {
  const fair = run(FairGate, 0.427);
  const barging = run(BargingGate, 0.427);

  test("the harness obeys Little's law for both disciplines", () => {
    for (const { mean, ideal } of [fair, barging]) expect(Math.abs(mean / ideal - 1)).toBeLessThan(0.02);
  });

  test("both keep the permits busy", () => {
    for (const { ideal } of [fair, barging]) expect(ideal).toBeLessThan(clients * serviceMs / permits * 1.001);
  });

  test("fifo: the p99 is the ideal, and all are served alike", () => {
    expect(fairEnough(fair)).toBe(true);
    expect(at(fair.sojourns, 1) / fair.ideal).toBeLessThan(1.03);
    expect(Math.max(...fair.served) - Math.min(...fair.served)).toBeLessThan(3);
    expect([fair.neverWaited, fair.overtakes]).toEqual([0, 0]);
  });

  test("barge: the same gate catches it, and the share that never waited gives it away", () => {
    expect(fairEnough(barging)).toBe(false);
    expect(at(barging.sojourns, 0.99) / barging.ideal).toBeGreaterThan(2);
    expect(barging.neverWaited).toBeGreaterThan(0.3);
    expect(barging.overtakes).toBeGreaterThan(1000);
  });
});
