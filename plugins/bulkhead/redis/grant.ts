import { LossListeners } from "../loss_listeners.ts";
import type { Holding, Place } from "../deadlock.ts";
import type { BulkheadAsk, BulkheadGrant } from "../store.ts";
import type { RedisOwner } from "./host.ts";

/** What a grant asks of the lane it came from. */
export interface GrantKeeper {
  readonly place: Place;
  /** Gives the permits back; false when Redis had given them to somebody else. */
  giveBack(grant: RedisGrant): Promise<boolean>;
  /** Its lease has run out on the host's own clock. */
  lose(grant: RedisGrant): void;
  now(): number;
}

/** How long a lease that was asked for at `sent` (ms on the host's clock) is safe: clocks may differ by 1 % and a timer be late. */
export function guardOf(sent: number, leaseMs: number): number {
  return sent + leaseMs * 0.99 - 5;
}

/**
 * Permits from Redis. They count as lost at {@linkcode RedisGrant.guard}, which is before the lease ends on the server's clock
 * whatever has become of the connection: nobody else has them until then.
 */
export class RedisGrant implements BulkheadGrant, Holding {
  readonly granted = true;
  readonly id: string;
  readonly place: Place;
  readonly owner: RedisOwner | undefined;
  readonly name: string;
  readonly weight: number;
  readonly leaseMs: number;
  readonly waitedMs: number;
  readonly position: number;
  readonly fence: number;
  /** When it was heard of, in ms on the host's clock. */
  readonly since: number;
  /** When it counts as lost, in ms on the host's clock; Infinity for permits that this host gave out by itself. */
  guard: number;
  /** What Redis knew when it was granted; empty for permits that this host gave out by itself. */
  epoch: string;
  state: "out" | "back" | "lost" = "out";
  readonly #keeper: GrantKeeper;
  readonly #listeners: LossListeners = new LossListeners();

  constructor(
    keeper: GrantKeeper,
    id: string,
    owner: RedisOwner | undefined,
    ask: BulkheadAsk,
    facts: {
      readonly waitedMs: number;
      readonly position: number;
      readonly fence: number;
      readonly guard: number;
      readonly epoch: string;
    },
  ) {
    this.#keeper = keeper;
    this.id = id;
    this.place = keeper.place;
    this.owner = owner;
    this.name = ask.name;
    this.weight = ask.weight;
    this.leaseMs = ask.leaseMs;
    this.waitedMs = facts.waitedMs;
    this.position = facts.position;
    this.fence = facts.fence;
    this.since = keeper.now();
    this.guard = facts.guard;
    this.epoch = facts.epoch;
  }

  /** The truth at this moment, also where a process was stopped and its timers come late. */
  get lost(): boolean {
    if (this.state === "out" && this.#keeper.now() >= this.guard) this.#keeper.lose(this);
    return this.state === "lost";
  }

  onLost(listener: () => void): () => void {
    if (this.lost) listener();
    if (this.state !== "out") return () => {};
    return this.#listeners.add(listener);
  }

  async release(): Promise<boolean> {
    if (this.lost || this.state === "back") return this.state !== "lost";
    return await this.#keeper.giveBack(this);
  }

  /** Tells who listens that the permits are lost. */
  tellLost(onError: (error: unknown) => void): void {
    this.#listeners.tell(onError);
  }
}
