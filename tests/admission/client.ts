import type { Refusal, Waiter } from "../../core/contracts/gates.ts";

/** A waiter that writes down what it is told. */
export class Client implements Waiter {
  readonly id: string;
  readonly weight: number;
  readonly deadline: number;
  readonly log: string[];
  waited = -1;
  then: () => void = () => {};

  constructor(log: string[], id: string | number, options: { weight?: number; deadline?: number } = {}) {
    this.log = log;
    this.id = String(id);
    this.weight = options.weight ?? 1;
    this.deadline = options.deadline ?? Infinity;
  }

  onGrant(waitedMs: number): void {
    this.waited = waitedMs;
    this.log.push(`${this.id} granted`);
    this.then();
  }

  onRefuse(reason: Refusal, waitedMs: number): void {
    this.waited = waitedMs;
    this.log.push(`${this.id} ${reason}`);
    this.then();
  }
}
