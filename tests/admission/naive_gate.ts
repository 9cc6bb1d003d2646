import type { Refusal, Waiter } from "../../core/contracts/gates.ts";
import type { VirtualClock } from "./virtual_clock.ts";

interface Entry {
  readonly waiter: Waiter;
  readonly weight: number;
  readonly entered: number;
  readonly expires: number;
  outcome?: "granted" | Refusal;
  waited?: number;
}

/** What the model test needs of a gate. */
export interface GateUnderTest {
  readonly limit: number;
  readonly used: number;
  readonly queued: number;
  tryEnter(weight?: number): boolean;
  enter(waiter: Waiter): "granted" | "queued" | Refusal;
  cancel(waiter: Waiter): boolean;
  leave(weight?: number): void;
  resize(limit: number): void;
  close(): void;
}

/** The gate as one would write it with no thought of cost: arrays, scans, and time walked from one deadline to the next. */
export class NaiveGate implements GateUnderTest {
  limit: number;
  used = 0;
  readonly #maxQueue: number;
  readonly #grace: number;
  readonly #clock: VirtualClock;
  #line: Entry[] = [];
  #decided: Entry[] = [];
  #shut = false;
  #delivering = false;

  constructor(options: { limit: number; maxQueue: number; grace: number; clock: VirtualClock }) {
    this.limit = options.limit;
    this.#maxQueue = options.maxQueue;
    this.#grace = options.grace;
    this.#clock = options.clock;
  }

  get queued(): number {
    return this.#line.length;
  }

  tryEnter(weight = 1): boolean {
    if (this.#shut || this.#line.length > 0 || this.used + weight > this.limit) return false;
    this.used += weight;
    return true;
  }

  enter(waiter: Waiter): "granted" | "queued" | Refusal {
    const entered = this.#clock.time;
    const weight = waiter.weight ?? 1;
    const deadline = waiter.deadline ?? Infinity;
    if (this.#shut) return "draining";
    if (deadline <= entered) return "deadline";
    if (this.tryEnter(weight)) return "granted";
    if (this.#line.length >= this.#maxQueue) return "full";
    if (this.#grace === 0) return "grace";
    this.#line.push({ waiter, weight, entered, expires: Math.min(deadline, entered + this.#grace) });
    return "queued";
  }

  cancel(waiter: Waiter): boolean {
    const inLine = this.#line.find((entry) => entry.waiter === waiter);
    const decided = this.#decided.find((entry) => entry.waiter === waiter);
    this.#line = this.#line.filter((entry) => entry !== inLine);
    this.#decided = this.#decided.filter((entry) => entry !== decided);
    if (decided?.outcome === "granted") this.used -= decided.weight;
    this.#settle();
    return inLine !== undefined || decided !== undefined;
  }

  leave(weight = 1): void {
    this.used -= weight;
    this.#settle();
  }

  resize(limit: number): void {
    this.limit = limit;
    this.#refuse((entry) => entry.weight > limit, "full");
    this.#settle();
  }

  close(): void {
    this.#shut = true;
    this.#refuse(() => true, "draining");
    this.#settle();
  }

  advance(ms: number): void {
    const until = this.#clock.time + ms;
    for (;;) {
      const next = Math.min(...this.#line.map((entry) => entry.expires));
      if (next > until) break;
      this.#clock.time = next;
      this.#refuse((entry) => entry.expires <= next, "deadline");
      this.#settle();
    }
    this.#clock.time = until;
  }

  #refuse(which: (entry: Entry) => boolean, reason: Refusal): void {
    for (const entry of this.#line.filter(which)) {
      this.#decide(entry, reason === "deadline" && entry.waiter.deadline !== entry.expires ? "grace" : reason);
    }
  }

  #decide(entry: Entry, outcome: "granted" | Refusal): void {
    this.#line = this.#line.filter((other) => other !== entry);
    this.#decided.push({ ...entry, outcome, waited: this.#clock.time - entry.entered });
  }

  #settle(): void {
    for (let head = this.#line[0]; head !== undefined && this.used + head.weight <= this.limit; head = this.#line[0]) {
      this.#decide(head, "granted");
      this.used += head.weight;
    }
    if (this.#delivering) return;
    this.#delivering = true;
    for (let entry = this.#decided.shift(); entry !== undefined; entry = this.#decided.shift()) {
      if (entry.outcome === "granted") entry.waiter.onGrant(entry.waited!);
      else entry.waiter.onRefuse(entry.outcome!, entry.waited!);
    }
    this.#delivering = false;
  }
}
