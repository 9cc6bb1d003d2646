import type { Gate, Gates, GateTerms, Refusal, Waiter } from "../../core/contracts/gates.ts";
import type { FairGate } from "./fair_gate.ts";
import type { NamedGates } from "./gates.ts";

/** Added to a lane's name, and in none: the gate of the permits that are kept for calls of the application to itself. */
export const reserved = "/self";

/**
 * A pool's gate as its owner sees it: he says how many permits there are, which is the most there can be. Some of them may be kept
 * for the application's calls to itself, and a controller may hold others back.
 */
export class SizedGate implements Gate {
  /** Where others enter. */
  readonly main: FairGate;
  /** Where the application's calls to itself do; undefined while one permit is all there is, or none are kept. */
  spare: FairGate | undefined = undefined;
  readonly #gates: NamedGates;
  readonly #terms: GateTerms;
  readonly #reserve: number;
  #size: number;
  #wanted = Infinity;

  constructor(gates: NamedGates, name: string, size: number, terms: GateTerms, reserve: number) {
    this.#gates = gates;
    this.#terms = terms;
    this.#reserve = reserve;
    this.#size = size;
    this.main = gates.open(name, Math.max(1, size - reserve), terms);
    this.resize(size);
  }

  get name(): string {
    return this.main.name;
  }

  /** Permits there are now, of `size`. */
  get limit(): number {
    return this.main.limit + (this.spare?.limit ?? 0);
  }

  /** The most permits there may be. */
  get size(): number {
    return this.#size;
  }

  get used(): number {
    return this.main.used + (this.spare?.used ?? 0);
  }

  get queued(): number {
    return this.main.queued + (this.spare?.queued ?? 0);
  }

  tryEnter(weight?: number): boolean {
    return this.main.tryEnter(weight);
  }

  enter(waiter: Waiter): "granted" | "queued" | Refusal {
    return this.main.enter(waiter);
  }

  cancel(waiter: Waiter): boolean {
    return this.main.cancel(waiter);
  }

  leave(held?: number | Waiter): void {
    this.main.leave(held);
  }

  retryAfter(): number {
    return this.main.retryAfter();
  }

  resize(size: number): void {
    this.#size = size;
    const kept = Math.min(this.#reserve, size - 1);
    if (kept > 0) this.spare = this.#gates.open(this.name + reserved, kept, this.#terms);
    this.#apply(kept);
  }

  /** Holds permits back, so that there are no more than so many, and at least one beside those that are kept. */
  want(limit: number): void {
    this.#wanted = limit;
    this.#apply(Math.min(this.#reserve, this.#size - 1));
  }

  #apply(kept: number): void {
    const limit = Math.max(1, Math.min(this.#wanted, this.#size) - kept);
    if (limit !== this.main.limit) this.main.resize(limit);
  }
}

/** The gates of a server where pools have reserves or adaptive limits. What outlives a drain is no pool of it, and has neither. */
export class SizedGates implements Gates {
  readonly #gates: NamedGates;
  readonly #reserve: number;
  readonly #sized = new Map<string, SizedGate>();

  constructor(gates: NamedGates, reserve: number) {
    this.#gates = gates;
    this.#reserve = reserve;
  }

  open(name: string, limit: number, terms: GateTerms = {}): Gate {
    const known = this.#sized.get(name);
    if (known !== undefined) {
      known.resize(limit);
      return known;
    }
    if (terms.drains === false) return this.#gates.open(name, limit, terms);
    const gate = new SizedGate(this.#gates, name, limit, terms, this.#reserve);
    this.#sized.set(name, gate);
    return gate;
  }

  find(name: string): Gate | undefined {
    return this.#sized.get(name) ?? this.#gates.find(name);
  }

  sized(name: string): SizedGate | undefined {
    return this.#sized.get(name);
  }

  forget(name: string): void {
    this.#sized.delete(name);
    this.#gates.forget(name);
    this.#gates.forget(name + reserved);
  }
}
