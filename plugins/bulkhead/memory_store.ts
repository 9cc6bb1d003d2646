import type { Refusal } from "../../core/contracts/gates.ts";
import type { Awaitable } from "../../core/plugin.ts";
import { type Clock, systemClock } from "../../core/clock.ts";
import { closesCircle } from "./deadlock.ts";
import { denialOf } from "./gate_reasons.ts";
import type { BulkheadView, InspectableStore } from "./inspect.ts";
import { KnownOwners } from "./known_owners.ts";
import { Leases } from "./leases.ts";
import { Limits } from "./limits.ts";
import { MemoryGrant } from "./memory_grant.ts";
import type { Keeper, MemoryOwner } from "./memory_keeper.ts";
import type { MemoryStoreOptions } from "./memory_options.ts";
import { MemoryWait } from "./memory_wait.ts";
import type { Room } from "./room.ts";
import { Rooms } from "./rooms.ts";
import type {
  BulkheadAnswer,
  BulkheadAsk,
  BulkheadCounts,
  BulkheadDenial,
  BulkheadDenialReason,
  BulkheadEvents,
} from "./store.ts";
import { throwLater } from "./throw_later.ts";

/**
 * Permits in this process: strictly first come first served, in the gates of whoever offers `Gates`. What can be granted is granted
 * within the call, and a permit that comes back is the next waiter's before `release` returns.
 */
export class MemoryStore implements InspectableStore, Keeper {
  readonly kind: string;
  readonly #rooms: Rooms;
  readonly #clock: Clock;
  readonly #events: BulkheadEvents;
  readonly #canVanish: ((owner: object) => boolean) | undefined;
  readonly #onError: (error: unknown) => void;
  readonly #owners = new KnownOwners<MemoryGrant, MemoryWait>();
  readonly #leases: Leases;
  #fence: number;
  #closed = false;

  constructor(options: MemoryStoreOptions, kind = "memory") {
    this.kind = kind;
    this.#rooms = new Rooms(options.gates, options.limits ?? new Limits(), options.maxIdle ?? 1000);
    this.#clock = options.clock ?? systemClock;
    this.#events = options.events ?? {};
    this.#canVanish = options.canVanish;
    this.#onError = options.onError ?? throwLater;
    this.#leases = new Leases(this.#clock, (grant) => this.end(grant, true));
    // Below 2^53 until the year 2248, and behind the wall clock for any restart that takes less than a million grants a second.
    this.#fence = options.firstFence ?? Date.now() * 1024;
  }

  acquire(ask: BulkheadAsk): Awaitable<BulkheadAnswer> {
    const limit = this.#rooms.limitFor(ask);
    const { weight, signal } = ask;
    if (signal?.aborted) return this.#deny(undefined, "cancelled", signal.reason);
    if (this.#closed) return this.#deny(undefined, "draining");
    const room = this.#rooms.enter(ask.name, limit);
    if (room.gate.tryEnter(weight)) return this.#grant(room, this.#owners.of(ask.owner), ask, 0, 0);
    if (!(ask.maxWaitMs > 0)) return this.#deny(room, "full");
    if (room.line.size >= (ask.maxQueue ?? Infinity)) return this.#deny(room, "queue_full");
    const owner = this.#owners.of(ask.owner);
    if (owner !== undefined && closesCircle(owner, room, weight)) return this.#deny(room, "deadlock");
    return this.#wait(room, owner, ask);
  }

  counts(name: string): BulkheadCounts | undefined {
    const room = this.#rooms.find(name);
    if (room !== undefined) return room.counts(this.#clock.now());
    const limit = this.#rooms.cap(name);
    return limit === undefined ? undefined : { limit, active: 0, holders: 0, queued: 0, oldestWaitMs: 0 };
  }

  resize(name: string, limit: number): void {
    this.#rooms.resize(name, limit);
  }

  close(): void {
    this.#closed = true;
    this.#leases.off();
    this.#rooms.close();
  }

  /** Owners that hold or wait. */
  get owners(): number {
    return this.#owners.size;
  }

  /** That `owner` lives: its leases begin anew. */
  heard(owner: object): void {
    const known = this.#owners.find(owner);
    if (known !== undefined) known.heardAt = this.#clock.now();
  }

  /** That `owner` has ended: its waits do too (as `cancelled`), and its permits are back, in the order it took them. */
  gone(owner: object): void {
    const known = this.#owners.find(owner);
    if (known === undefined) return;
    // None of its waits must get what it gives back, or the place of another of them.
    for (const wait of [...known.waits].reverse()) this.cancel(wait);
    for (const grant of [...known.holds]) this.end(grant, false);
  }

  *look(name?: string): Generator<BulkheadView> {
    const now = this.#clock.now();
    const only = name === undefined ? undefined : this.#rooms.find(name);
    for (const room of name === undefined ? this.#rooms : only === undefined ? [] : [only]) yield room.view(now);
  }

  end(grant: MemoryGrant, lost: boolean): void {
    const { place: room, owner } = grant;
    grant.state = lost ? "lost" : "back";
    room.held.delete(grant);
    if (owner !== undefined) {
      this.#owners.gaveUp(owner, grant);
      if (this.#canVanish !== undefined) this.#leases.forget(grant);
    }
    // Who has lost them hears of it before anybody else has them.
    if (lost) {
      grant.tellLost(this.#onError);
      this.#events.lost?.(room.name);
    }
    room.gate.leave(grant.weight);
    this.#rooms.leave(room);
  }

  admit(wait: MemoryWait, waitedMs: number): BulkheadAnswer {
    const { place: room, owner, ask } = wait;
    const { first } = room.line;
    this.#leaveLine(wait);
    if (first !== wait) this.#events.overtaken?.(room.name);
    return this.#grant(room, owner, ask, waitedMs, wait.position);
  }

  turnAway(wait: MemoryWait, reason: Refusal, waitedMs: number): BulkheadDenial {
    this.#leaveLine(wait);
    return this.#deny(wait.place, denialOf[reason], wait.ask.signal?.reason, waitedMs);
  }

  cancel(wait: MemoryWait): void {
    const { place: room, entered, ask } = wait;
    if (!room.line.has(wait)) return;
    // Out of the line first: the gate may let others in before it returns.
    this.#leaveLine(wait);
    room.gate.cancel(wait);
    wait.settle(this.#deny(room, "cancelled", ask.signal?.reason, this.#clock.now() - entered));
  }

  #wait(room: Room, owner: MemoryOwner | undefined, ask: BulkheadAsk): Awaitable<BulkheadAnswer> {
    let settle!: (answer: BulkheadAnswer) => void;
    const answer = new Promise<BulkheadAnswer>((resolve) => settle = resolve);
    const wait = new MemoryWait(this, room, owner, ask, this.#clock.now(), settle);
    const verdict = room.gate.enter(wait);
    if (verdict === "granted") return this.#grant(room, owner, ask, 0, 0);
    if (verdict !== "queued") return this.#deny(room, verdict === "full" ? "queue_full" : denialOf[verdict]);
    room.line.add(wait);
    if (owner !== undefined) this.#owners.waits(owner, wait);
    wait.listen();
    return answer;
  }

  #leaveLine(wait: MemoryWait): void {
    const { place: room, owner } = wait;
    room.line.delete(wait);
    if (owner !== undefined) this.#owners.left(owner, wait);
  }

  #grant(
    room: Room,
    owner: MemoryOwner | undefined,
    ask: BulkheadAsk,
    waitedMs: number,
    position: number,
  ): MemoryGrant {
    const grant = new MemoryGrant(this, room, owner, ask, waitedMs, position, ++this.#fence, this.#clock.now());
    room.held.add(grant);
    if (owner !== undefined) {
      this.#owners.holds(owner, grant);
      if (this.#canVanish?.(owner.self)) this.#leases.watch(grant);
    }
    return grant;
  }

  #deny(room: Room | undefined, reason: BulkheadDenialReason, cause?: unknown, waitedMs = 0): BulkheadDenial {
    if (room !== undefined) this.#rooms.leave(room);
    const again = reason === "full" || reason === "queue_full" || reason === "timeout";
    const retryAfterMs = again && room !== undefined ? room.gate.retryAfter() * 1000 : 0;
    return { granted: false, reason, waitedMs, retryAfterMs, ...(reason === "cancelled" ? { cause } : undefined) };
  }
}
