import { describe, expect, test } from "bun:test";
import { FairGate } from "../../plugins/admission/fair_gate.ts";
import { Client } from "./client.ts";
import { VirtualClock } from "./virtual_clock.ts";

/** A line of `depth` behind one holder. */
function lineOf(depth: number): { gate: FairGate; clients: Client[] } {
  const gate = new FairGate({ limit: 1, grace: 1e6, clock: new VirtualClock() });
  gate.tryEnter();
  const log: string[] = [];
  const clients = Array.from({ length: depth }, (_, i) => new Client(log, i));
  for (const client of clients) gate.enter(client);
  return { gate, clients };
}

/** The best of a few, as cost per waiter: what the machine does besides only adds. */
function perWaiter(depth: number, act: (line: ReturnType<typeof lineOf>) => void): number {
  let best = Infinity;
  for (let round = 0; round < 5; round++) {
    const line = lineOf(depth);
    const started = performance.now();
    act(line);
    best = Math.min(best, (performance.now() - started) / depth);
  }
  return best;
}

/** A line 64 times as long may cost a few times more per waiter (caches), but not 64 times. */
function expectFlat(act: (line: ReturnType<typeof lineOf>) => void): void {
  perWaiter(2000, act);
  expect(perWaiter(128_000, act) / perWaiter(2000, act)).toBeLessThan(16);
}

describe("the cost of one waiter does not grow with the line", () => {
  test("when served", () => expectFlat(({ gate, clients }) => clients.forEach(() => gate.leave())));

  test("when refused by a drain", () => expectFlat(({ gate }) => gate.close()));

  test("when cancelled in the middle", () =>
    expectFlat(({ gate, clients }) => {
      for (let i = 0, half = clients.length >> 1; i < half; i++) {
        gate.cancel(clients[half + i]!);
        gate.cancel(clients[half - 1 - i]!);
      }
    }));
});
