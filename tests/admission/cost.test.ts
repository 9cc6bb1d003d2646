import { describe, expect, test } from "bun:test";
import type { Criticality } from "../../core/contracts/gates.ts";
import { createGate } from "../../plugins/admission/create_gate.ts";
import type { FairGate } from "../../plugins/admission/fair_gate.ts";
import { Client } from "./client.ts";
import { allowSlowTests } from "../support/wait.ts";
import { VirtualClock } from "./virtual_clock.ts";

// Ratios hold on a machine with other work; it only takes longer.
allowSlowTests(60_000);

interface Busy {
  readonly gate: FairGate;
  readonly clients: readonly Client[];
  /** Who was let in last. */
  holder?: Client;
}

/** A line of `depth` behind one holder: plain, or of two classes with a key for each eight waiters. */
function lineOf(depth: number, classed: boolean): Busy {
  const options = { limit: 1, grace: 1e6, clock: new VirtualClock() };
  const gate = createGate(classed ? { ...options, shares: {}, keys: true, maxKeys: 20_000 } : options);
  gate.tryEnter();
  const log: string[] = [];
  const clients: Client[] = [];
  const busy: Busy = { gate, clients };
  function then(this: Client) {
    busy.holder = this;
  }
  for (let i = 0; i < depth; i++) {
    const criticality: Criticality = i & 1 ? "critical" : "sheddable";
    const client = Object.assign(new Client(log, i), { then }, classed && { criticality, key: `key ${i >> 3}` });
    clients.push(client);
    gate.enter(client);
  }
  return busy;
}

/** The best of a few, as cost per waiter: what the machine does besides only adds. */
function perWaiter(depth: number, classed: boolean, act: (line: Busy) => void): number {
  let best = Infinity;
  for (let round = 0; round < (classed ? 3 : 5); round++) {
    const line = lineOf(depth, classed);
    const started = performance.now();
    act(line);
    best = Math.min(best, (performance.now() - started) / depth);
  }
  return best;
}

/** A line 64 times as long may cost a few times more per waiter (caches, which others use too), but not 64 times. */
function expectFlat(classed: boolean, act: (line: Busy) => void): void {
  perWaiter(2000, classed, act);
  expect(perWaiter(128_000, classed, act) / perWaiter(2000, classed, act)).toBeLessThan(32);
}

for (const classed of [false, true]) {
  describe(`the cost of one waiter does not grow with the line${classed ? ", nor with classes and keys" : ""}`, () => {
    test("when served", () =>
      expectFlat(classed, (line) => {
        for (let i = 0; i < line.clients.length; i++) line.gate.leave(line.holder);
      }));

    test("when refused by a drain", () => expectFlat(classed, ({ gate }) => gate.close()));

    test("when cancelled in the middle", () =>
      expectFlat(classed, ({ gate, clients }) => {
        for (let i = 0, half = clients.length >> 1; i < half; i++) {
          gate.cancel(clients[half + i]!);
          gate.cancel(clients[half - 1 - i]!);
        }
      }));
  });
}
