import type { Gates, GateTerms } from "../../core/contracts/gates.ts";
import type { FairGate } from "./fair_gate.ts";

/** Gates by name, made on first use. */
export class NamedGates implements Gates {
  readonly #make: (name: string, limit: number, terms: GateTerms) => FairGate;
  readonly #gates = new Map<string, FairGate>();
  /** Those that outlive a drain. */
  readonly #lasting = new Set<FairGate>();
  /** Those that others measure. */
  readonly #strict = new Set<FairGate>();
  #draining = false;

  constructor(make: (name: string, limit: number, terms: GateTerms) => FairGate) {
    this.#make = make;
  }

  open(name: string, limit: number, terms: GateTerms = {}): FairGate {
    const known = this.#gates.get(name);
    if (known !== undefined) {
      known.resize(limit);
      return known;
    }
    const gate = this.#make(name, limit, terms);
    this.#gates.set(name, gate);
    if (terms.strict) this.#strict.add(gate);
    if (terms.drains === false) this.#lasting.add(gate);
    else if (this.#draining) gate.close();
    return gate;
  }

  find(name: string): FairGate | undefined {
    return this.#gates.get(name);
  }

  forget(name: string): void {
    const gate = this.#gates.get(name);
    if (gate === undefined) return;
    this.#gates.delete(name);
    this.#lasting.delete(gate);
    this.#strict.delete(gate);
    gate.close();
  }

  /** Those that are measured here. */
  *[Symbol.iterator](): Iterator<FairGate> {
    for (const gate of this.#gates.values()) if (!this.#strict.has(gate)) yield gate;
  }

  /** Drains every gate but the lasting ones, those opened later too; resolves when no permit of theirs is out. */
  async drain(): Promise<void> {
    this.#draining = true;
    const draining = Array.from(this.#gates.values()).filter((gate) => !this.#lasting.has(gate));
    await Promise.all(draining.map((gate) => gate.drain()));
  }

  close(): void {
    this.#draining = true;
    for (const gate of this.#gates.values()) gate.close();
  }
}
