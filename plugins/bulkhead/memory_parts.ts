/**
 * What a memory store is made of: a room a bulkhead, permits, places in line, and those who hold and wait.
 *
 * @module
 */
import type { Gate, Refusal, Waiter } from "../../core/contracts/gates.ts";
import type { Holding, Party, Place, Standing } from "./deadlock.ts";
import type { BulkheadAnswer, BulkheadAsk, BulkheadGrant } from "./store.ts";

/** One bulkhead: its gate, who holds and who waits, in order of arrival. */
export class Room implements Place {
  readonly name: string;
  readonly gate: Gate;
  readonly held: Set<MemoryGrant> = new Set();
  readonly line: Set<MemoryWait> = new Set();

  constructor(name: string, gate: Gate) {
    this.name = name;
    this.gate = gate;
  }

  get free(): number {
    return this.gate.limit - this.gate.used;
  }

  get idle(): boolean {
    return this.held.size === 0 && this.line.size === 0;
  }
}

/** Someone who holds and waits. */
export class Owner implements Party {
  readonly self: object;
  readonly holds: MemoryGrant[] = [];
  readonly waits: MemoryWait[] = [];
  /** When it was last heard of. */
  heardAt = 0;

  constructor(self: object) {
    this.self = self;
  }
}

/** What a permit or a place in line asks of its store. */
export interface Keeper {
  /** Takes the permits back; `lost`: without their holder's doing. */
  end(grant: MemoryGrant, lost: boolean): void;
  /** The gate has let `wait` in. */
  admit(wait: MemoryWait, waitedMs: number): BulkheadAnswer;
  /** The gate has turned `wait` away, or its signal has. */
  turnAway(wait: MemoryWait, reason: Refusal, waitedMs: number): BulkheadAnswer;
  /** The wait is over because its signal says so. */
  cancel(wait: MemoryWait): void;
}

/** Permits of a memory store. */
export class MemoryGrant implements BulkheadGrant, Holding {
  readonly granted = true;
  readonly place: Room;
  readonly owner: Owner | undefined;
  readonly weight: number;
  readonly leaseMs: number;
  readonly waitedMs: number;
  readonly position: number;
  readonly fence: number;
  /** When they were granted. */
  readonly since: number;
  /** What the store knows: out, given back, or lost. */
  state: "out" | "back" | "lost" = "out";
  readonly #keeper: Keeper;
  #listeners: Set<() => void> | undefined = undefined;

  constructor(
    keeper: Keeper,
    place: Room,
    owner: Owner | undefined,
    { weight, leaseMs }: BulkheadAsk,
    waitedMs: number,
    position: number,
    fence: number,
    since: number,
  ) {
    this.#keeper = keeper;
    this.place = place;
    this.owner = owner;
    this.weight = weight;
    this.leaseMs = leaseMs;
    this.waitedMs = waitedMs;
    this.position = position;
    this.fence = fence;
    this.since = since;
  }

  get name(): string {
    return this.place.name;
  }

  get lost(): boolean {
    return this.state === "lost";
  }

  onLost(listener: () => void): () => void {
    if (this.state === "lost") listener();
    if (this.state !== "out") return () => {};
    // Wrapped, so that one listener given twice is two.
    const own = () => listener();
    (this.#listeners ??= new Set()).add(own);
    return () => void this.#listeners?.delete(own);
  }

  release(): boolean {
    if (this.state === "out") this.#keeper.end(this, false);
    return this.state !== "lost";
  }

  /** Tells the listeners, each whatever the others throw. */
  tellLost(onError: (error: unknown) => void): void {
    const listeners = this.#listeners;
    this.#listeners = undefined;
    for (const listener of listeners ?? []) {
      try {
        listener();
      } catch (error) {
        onError(error);
      }
    }
  }
}

/** A place in the line of a memory store. */
export class MemoryWait implements Waiter, Standing {
  readonly ask: BulkheadAsk;
  readonly place: Room;
  readonly owner: Owner | undefined;
  readonly weight: number;
  readonly deadline: number;
  readonly entered: number;
  readonly position: number;
  readonly #keeper: Keeper;
  readonly #settle: (answer: BulkheadAnswer) => void;
  #onAbort: (() => void) | undefined = undefined;

  constructor(
    keeper: Keeper,
    place: Room,
    owner: Owner | undefined,
    ask: BulkheadAsk,
    entered: number,
    settle: (answer: BulkheadAnswer) => void,
  ) {
    this.ask = ask;
    this.place = place;
    this.owner = owner;
    this.weight = ask.weight;
    this.deadline = entered + ask.maxWaitMs;
    this.entered = entered;
    this.position = place.line.size;
    this.#keeper = keeper;
    this.#settle = settle;
  }

  /** Has the signal end the wait. */
  listen(): void {
    if (this.ask.signal === undefined) return;
    this.#onAbort = () => this.#keeper.cancel(this);
    this.ask.signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  onGrant(waitedMs: number): void {
    this.settle(this.#keeper.admit(this, waitedMs));
  }

  onRefuse(reason: Refusal, waitedMs: number): void {
    this.settle(this.#keeper.turnAway(this, reason, waitedMs));
  }

  settle(answer: BulkheadAnswer): void {
    if (this.#onAbort !== undefined) this.ask.signal!.removeEventListener("abort", this.#onAbort);
    this.#settle(answer);
  }
}
