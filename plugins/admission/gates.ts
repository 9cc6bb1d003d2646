import type { Gates } from "../../core/contracts/gates.ts";
import type { FairGate } from "./fair_gate.ts";

/** Gates by name, made on first use. */
export class NamedGates implements Gates {
  readonly #make: (name: string, limit: number) => FairGate;
  readonly #gates = new Map<string, FairGate>();
  #draining = false;

  constructor(make: (name: string, limit: number) => FairGate) {
    this.#make = make;
  }

  open(name: string, limit: number): FairGate {
    const known = this.#gates.get(name);
    if (known !== undefined) {
      known.resize(limit);
      return known;
    }
    const gate = this.#make(name, limit);
    this.#gates.set(name, gate);
    if (this.#draining) gate.close();
    return gate;
  }

  find(name: string): FairGate | undefined {
    return this.#gates.get(name);
  }

  [Symbol.iterator](): Iterator<FairGate> {
    return this.#gates.values();
  }

  /** Drains every gate, those opened later too; resolves when no permit is out. */
  async drain(): Promise<void> {
    this.#draining = true;
    await Promise.all(Array.from(this.#gates.values(), (gate) => gate.drain()));
  }

  close(): void {
    this.#draining = true;
    for (const gate of this.#gates.values()) gate.close();
  }
}
