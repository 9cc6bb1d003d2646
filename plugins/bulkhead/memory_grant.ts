import type { Holding } from "./deadlock.ts";
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
  #listeners: Set<() => void> | undefined = undefined;

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
