import type { Gates, Refusal } from "../../core/contracts/gates.ts";
import type { Awaitable } from "../../core/plugin.ts";
import { type Clock, systemClock } from "./clock.ts";
import { closesCircle } from "./deadlock.ts";
import { badLimit, badWeight } from "./errors.ts";
import type { BulkheadView, InspectableStore } from "./inspect.ts";
import { Leases } from "./leases.ts";
import { Limits } from "./limits.ts";
import { type Keeper, MemoryGrant, MemoryWait, Owner, Room } from "./memory_parts.ts";
import { checkName } from "./name.ts";
import type {
  BulkheadAnswer,
  BulkheadAsk,
  BulkheadCounts,
  BulkheadDenial,
  BulkheadDenialReason,
  BulkheadEvents,
} from "./store.ts";

/** What a memory store is made of. */
export interface MemoryStoreOptions {
  /** Where it opens a gate a bulkhead, named `bulkhead:NAME`. */
  readonly gates: Gates;
  /** The host's own limits: callers may ask for less, never for more. */
  readonly limits?: Limits;
  readonly events?: BulkheadEvents;
  /**
   * Which owners can vanish without a word. Their permits have leases, and whoever hosts them calls `heard`. None when absent:
   * what runs in this process ends by itself, or with the process.
   */
  readonly canVanish?: (owner: object) => boolean;
  /** Told what a listener threw; the store goes on. Thrown from a microtask when absent. */
  readonly onError?: (error: unknown) => void;
  /** The clock of the gates. */
  readonly clock?: Clock;
  /** Bulkheads that nobody uses and that are remembered all the same; 1000 when absent. */
  readonly maxIdle?: number;
  /** Where fences start; from the wall clock when absent, so that they rise across restarts. */
  readonly firstFence?: number;
}

const denialOf: Readonly<Record<Refusal, BulkheadDenialReason>> = {
  // After it got in line: the limit has shrunk below what it wants.
  full: "full",
  evicted: "queue_full",
  key: "full",
  class: "full",
  grace: "timeout",
  deadline: "timeout",
  predicted: "timeout",
  codel: "timeout",
  draining: "draining",
  cancelled: "cancelled",
};

/**
 * Permits in this process: strictly first come first served, in the gates of whoever offers `Gates`. What can be granted is granted
 * within the call, and a permit that comes back is the next waiter's before `release` returns.
 */
export class MemoryStore implements InspectableStore, Keeper {
  readonly kind: string;
  readonly #gates: Gates;
  readonly #clock: Clock;
  readonly #events: BulkheadEvents;
  readonly #canVanish: ((owner: object) => boolean) | undefined;
  readonly #onError: (error: unknown) => void;
  readonly #maxIdle: number;
  readonly #limits: Limits;
  /** What `resize` has said, which counts as configured. */
  readonly #resized = new Map<string, number>();
  readonly #rooms = new Map<string, Room>();
  /** Rooms without anybody, who was left first in front. */
  readonly #idle = new Set<Room>();
  readonly #owners = new Map<object, Owner>();
  readonly #leases: Leases;
  #fence: number;
  #closed = false;

  constructor(options: MemoryStoreOptions, kind = "memory") {
    this.kind = kind;
    this.#gates = options.gates;
    this.#clock = options.clock ?? systemClock;
    this.#events = options.events ?? {};
    this.#canVanish = options.canVanish;
    this.#onError = options.onError ?? throwLater;
    this.#maxIdle = options.maxIdle ?? 1000;
    this.#limits = options.limits ?? new Limits();
    this.#leases = new Leases(this.#clock, (grant) => this.end(grant, true));
    // Below 2^53 until the year 2248, and behind the wall clock for any restart that takes less than a million grants a second.
    this.#fence = options.firstFence ?? Date.now() * 1024;
  }

  acquire(ask: BulkheadAsk): Awaitable<BulkheadAnswer> {
    const limit = this.#limitFor(ask);
    const { weight, signal } = ask;
    if (signal?.aborted) return this.#deny(undefined, "cancelled", signal.reason);
    if (this.#closed) return this.#deny(undefined, "draining");
    const room = this.#enterRoom(ask.name, limit);
    if (room.gate.tryEnter(weight)) return this.#grant(room, this.#ownerOf(ask), ask, 0, 0);
    if (!(ask.maxWaitMs > 0)) return this.#deny(room, "full");
    if (room.line.size >= (ask.maxQueue ?? Infinity)) return this.#deny(room, "queue_full");
    const owner = this.#ownerOf(ask);
    if (owner !== undefined && closesCircle(owner, room, weight)) return this.#deny(room, "deadlock");
    return this.#wait(room, owner, ask);
  }

  counts(name: string): BulkheadCounts | undefined {
    const room = this.#rooms.get(name);
    if (room !== undefined) return this.#count(room);
    const limit = this.#capOf(name);
    return limit === undefined ? undefined : { limit, active: 0, holders: 0, queued: 0, oldestWaitMs: 0 };
  }

  resize(name: string, limit: number): void {
    const room = this.#rooms.get(name);
    checkLimit(room === undefined ? checkName(name) : name, limit);
    this.#resized.set(name, limit);
    room?.gate.resize(limit);
  }

  close(): void {
    this.#closed = true;
    this.#leases.off();
    for (const room of this.#rooms.values()) this.#gates.forget(room.gate.name);
  }

  /** That `owner` lives: its leases begin anew. */
  heard(owner: object): void {
    const known = this.#owners.get(owner);
    if (known !== undefined) known.heardAt = this.#clock.now();
  }

  /** That `owner` has ended: its waits do too (as `cancelled`), and its permits are back, in the order it took them. */
  gone(owner: object): void {
    const known = this.#owners.get(owner);
    if (known === undefined) return;
    // Waits first: none of them must get what it gives back.
    for (const wait of [...known.waits]) this.cancel(wait);
    for (const grant of [...known.holds]) this.end(grant, false);
  }

  *look(): Generator<BulkheadView> {
    const now = this.#clock.now();
    for (const room of this.#rooms.values()) {
      yield {
        name: room.name,
        ...this.#count(room),
        held: Array.from(room.held, ({ weight, fence, since, owner }) => ({
          weight,
          fence,
          heldMs: now - since,
          owner: owner?.self,
        })),
        line: Array.from(room.line, ({ weight, entered, owner }) => ({
          weight,
          waitedMs: now - entered,
          owner: owner?.self,
        })),
      };
    }
  }

  end(grant: MemoryGrant, lost: boolean): void {
    const { place: room, owner } = grant;
    grant.state = lost ? "lost" : "back";
    room.held.delete(grant);
    if (owner !== undefined) {
      owner.holds.splice(owner.holds.indexOf(grant), 1);
      this.#parted(owner);
      if (this.#canVanish !== undefined) this.#leases.forget(grant);
    }
    // Who has lost them hears of it before anybody else has them.
    if (lost) {
      grant.tellLost(this.#onError);
      this.#events.lost?.(room.name);
    }
    room.gate.leave(grant.weight);
    this.#leaveRoom(room);
  }

  admit(wait: MemoryWait, waitedMs: number): BulkheadAnswer {
    const { place: room, owner, ask } = wait;
    const first = room.line.values().next().value;
    this.#leaveLine(wait);
    if (first !== wait) this.#events.overtaken?.(room.name);
    return this.#grant(room, owner, ask, waitedMs, wait.position);
  }

  turnAway(wait: MemoryWait, reason: Refusal, waitedMs: number): BulkheadDenial {
    this.#leaveLine(wait);
    return this.#deny(wait.place, denialOf[reason], wait.ask.signal?.reason, waitedMs);
  }

  cancel(wait: MemoryWait): void {
    if (!wait.place.gate.cancel(wait)) return;
    wait.settle(this.turnAway(wait, "cancelled", this.#clock.now() - wait.entered));
  }

  /** The limit that counts for `ask`, which is checked. */
  #limitFor({ name, limit, weight }: BulkheadAsk): number {
    if (!this.#rooms.has(name)) checkName(name);
    checkLimit(name, limit);
    const cap = this.#capOf(name);
    const counts = cap !== undefined && cap < limit ? cap : limit;
    if (!Number.isInteger(weight) || weight < 1 || weight > counts) throw badWeight(name, weight, counts);
    return counts;
  }

  #capOf(name: string): number | undefined {
    return this.#resized.get(name) ?? this.#limits.of(name)?.maxConcurrent;
  }

  #enterRoom(name: string, limit: number): Room {
    let room = this.#rooms.get(name);
    if (room === undefined) {
      const terms = { maxQueue: Infinity, grace: Infinity, drains: false };
      room = new Room(name, this.#gates.open(`bulkhead:${name}`, limit, terms));
      this.#rooms.set(name, room);
    } else {
      if (this.#idle.size > 0) this.#idle.delete(room);
      if (room.gate.limit !== limit) room.gate.resize(limit);
    }
    return room;
  }

  /** Remembers a bulkhead that nobody uses for as long as there are not too many of them. */
  #leaveRoom(room: Room): void {
    if (!room.idle) return;
    this.#idle.add(room);
    if (this.#idle.size <= this.#maxIdle) return;
    const [oldest] = this.#idle;
    this.#idle.delete(oldest!);
    this.#rooms.delete(oldest!.name);
    this.#gates.forget(oldest!.gate.name);
  }

  #wait(room: Room, owner: Owner | undefined, ask: BulkheadAsk): Awaitable<BulkheadAnswer> {
    let settle!: (answer: BulkheadAnswer) => void;
    const answer = new Promise<BulkheadAnswer>((resolve) => settle = resolve);
    const wait = new MemoryWait(this, room, owner, ask, this.#clock.now(), settle);
    const verdict = room.gate.enter(wait);
    if (verdict === "granted") return this.#grant(room, owner, ask, 0, 0);
    if (verdict !== "queued") return this.#deny(room, verdict === "full" ? "queue_full" : denialOf[verdict]);
    room.line.add(wait);
    if (owner !== undefined) {
      owner.waits.push(wait);
      this.#owners.set(owner.self, owner);
    }
    wait.listen();
    return answer;
  }

  #leaveLine(wait: MemoryWait): void {
    const { place: room, owner } = wait;
    room.line.delete(wait);
    if (owner === undefined) return;
    owner.waits.splice(owner.waits.indexOf(wait), 1);
    this.#parted(owner);
  }

  #grant(room: Room, owner: Owner | undefined, ask: BulkheadAsk, waitedMs: number, position: number): MemoryGrant {
    const grant = new MemoryGrant(this, room, owner, ask, waitedMs, position, ++this.#fence, this.#clock.now());
    room.held.add(grant);
    if (owner !== undefined) {
      owner.holds.push(grant);
      this.#owners.set(owner.self, owner);
      if (this.#canVanish?.(owner.self)) this.#leases.watch(grant);
    }
    return grant;
  }

  /** Known to the store for as long as it holds or waits. */
  #ownerOf({ owner: self }: BulkheadAsk): Owner | undefined {
    return self === undefined ? undefined : this.#owners.get(self) ?? new Owner(self);
  }

  #parted(owner: Owner): void {
    if (owner.holds.length === 0 && owner.waits.length === 0) this.#owners.delete(owner.self);
  }

  #deny(room: Room | undefined, reason: BulkheadDenialReason, cause?: unknown, waitedMs = 0): BulkheadDenial {
    if (room !== undefined) this.#leaveRoom(room);
    const again = reason === "full" || reason === "queue_full" || reason === "timeout";
    const retryAfterMs = again && room !== undefined ? room.gate.retryAfter() * 1000 : 0;
    return { granted: false, reason, waitedMs, retryAfterMs, ...(reason === "cancelled" ? { cause } : undefined) };
  }

  #count(room: Room): BulkheadCounts {
    const { gate, held, line } = room;
    const first = line.values().next().value;
    return {
      limit: gate.limit,
      active: gate.used,
      holders: held.size,
      queued: line.size,
      oldestWaitMs: first === undefined ? 0 : this.#clock.now() - first.entered,
    };
  }
}

function checkLimit(name: string, limit: number): void {
  if (!Number.isSafeInteger(limit) || limit < 1) throw badLimit(name, limit);
}

function throwLater(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
