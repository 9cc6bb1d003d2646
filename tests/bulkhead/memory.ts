import { FairGate } from "../../plugins/admission/fair_gate.ts";
import { NamedGates } from "../../plugins/admission/gates.ts";
import type { MemoryStoreOptions } from "../../plugins/bulkhead/memory_options.ts";
import { MemoryStore } from "../../plugins/bulkhead/memory_store.ts";
import { VirtualClock } from "../admission/virtual_clock.ts";

/** A memory store on a virtual clock, over the gates that a server has. */
export interface TestMemory {
  readonly store: MemoryStore;
  readonly gates: NamedGates;
  readonly clock: VirtualClock;
  readonly lost: string[];
  readonly overtaken: string[];
  /** What listeners threw. */
  readonly errors: unknown[];
  /** Moves the clock, and lets what was waiting for it run. */
  advance(ms: number): Promise<void>;
}

export function testMemory(options: Partial<MemoryStoreOptions> = {}): TestMemory {
  const clock = new VirtualClock();
  const gates = new NamedGates((name, limit, { maxQueue, grace }) =>
    new FairGate({
      name,
      limit,
      ...(maxQueue === undefined ? undefined : { maxQueue }),
      ...(grace === undefined ? undefined : { grace }),
      clock,
      random: () => 0.5,
    })
  );
  const lost: string[] = [], overtaken: string[] = [], errors: unknown[] = [];
  const store = new MemoryStore({
    gates,
    clock,
    firstFence: 0,
    events: { lost: (name) => lost.push(name), overtaken: (name) => overtaken.push(name) },
    onError: (error) => errors.push(error),
    ...options,
  });
  return {
    store,
    gates,
    clock,
    lost,
    overtaken,
    errors,
    async advance(ms) {
      clock.advance(ms);
      await ticks();
    },
  };
}

/** Lets promises settle that need no timer. */
export async function ticks(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}
