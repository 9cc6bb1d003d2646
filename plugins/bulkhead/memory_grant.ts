import type { Holding } from "./deadlock.ts";
import { LossListeners } from "./loss_listeners.ts";
import type { Keeper, MemoryOwner } from "./memory_keeper.ts";
import type { Room } from "./room.ts";
import type { BulkheadAsk, BulkheadGrant } from "./store.ts";

/** Permits of a memory store. */
export class MemoryGrant implements BulkheadGrant, Holding {
  readonly granted = true;
  readonly place: Room;
  readonly owner: MemoryOwner | undefined;
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
  readonly #listeners: LossListeners = new LossListeners();

  constructor(
    keeper: Keeper,
    place: Room,
    owner: MemoryOwner | undefined,
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
    return this.#listeners.add(listener);
  }

  release(): boolean {
    if (this.state === "out") this.#keeper.end(this, false);
    return this.state !== "lost";
  }

  /** Tells who listens that the permits are lost. */
  tellLost(onError: (error: unknown) => void): void {
    this.#listeners.tell(onError);
  }
}
