import type { Refusal, Waiter } from "../../core/contracts/gates.ts";
import type { Standing } from "./deadlock.ts";
import type { Keeper, MemoryOwner } from "./memory_keeper.ts";
import type { Room } from "./room.ts";
import type { BulkheadAnswer, BulkheadAsk } from "./store.ts";
import type { WaitLine } from "./wait_line.ts";

/** A place in the line of a memory store. */
export class MemoryWait implements Waiter, Standing {
  readonly ask: BulkheadAsk;
  readonly place: Room;
  readonly owner: MemoryOwner | undefined;
  readonly weight: number;
  readonly deadline: number;
  readonly entered: number;
  readonly position: number;
  /** Kept by the line it stands in. */
  line: WaitLine | undefined = undefined;
  before: MemoryWait | undefined = undefined;
  after: MemoryWait | undefined = undefined;
  readonly #keeper: Keeper;
  readonly #settle: (answer: BulkheadAnswer) => void;
  #onAbort: (() => void) | undefined = undefined;

  constructor(
    keeper: Keeper,
    place: Room,
    owner: MemoryOwner | undefined,
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
