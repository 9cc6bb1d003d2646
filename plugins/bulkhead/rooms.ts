import type { Gates } from "../../core/contracts/gates.ts";
import { badLimit, badWeight } from "./errors.ts";
import type { Limits } from "./limits.ts";
import { checkName } from "./name.ts";
import { Room } from "./room.ts";
import type { BulkheadAsk } from "./store.ts";

/** As many permits as there may be, and as long a line and wait: the store sees to these. Scripts that run need them in a drain. */
const terms = { maxQueue: Infinity, grace: Infinity, drains: false, strict: true };

/** The bulkheads of a memory store: made on first use, with the limit that counts, and forgotten when too many are idle. */
export class Rooms implements Iterable<Room> {
  readonly #gates: Gates;
  readonly #limits: Limits;
  readonly #maxIdle: number;
  readonly #rooms = new Map<string, Room>();
  /** Rooms without anybody, the longest idle in front. */
  readonly #idle = new Set<Room>();
  /** What `resize` has said, which counts as configured. */
  readonly #resized = new Map<string, number>();

  constructor(gates: Gates, limits: Limits, maxIdle: number) {
    this.#gates = gates;
    this.#limits = limits;
    this.#maxIdle = maxIdle;
  }

  find(name: string): Room | undefined {
    return this.#rooms.get(name);
  }

  [Symbol.iterator](): Iterator<Room> {
    return this.#rooms.values();
  }

  /** The limit that the host has set, if it has. */
  cap(name: string): number | undefined {
    return this.#resized.get(name) ?? this.#limits.of(name)?.maxConcurrent;
  }

  /**
   * The limit that counts for `ask`: its own, but never more than the host's.
   *
   * @throws CoreError `BULKHEAD_NAME`, `BULKHEAD_LIMIT`, `BULKHEAD_WEIGHT`
   */
  limitFor({ name, limit, weight }: BulkheadAsk): number {
    if (!this.#rooms.has(name)) checkName(name);
    checkLimit(name, limit);
    const cap = this.cap(name);
    const counts = cap !== undefined && cap < limit ? cap : limit;
    if (!Number.isInteger(weight) || weight < 1 || weight > counts) throw badWeight(name, weight, counts);
    return counts;
  }

  /** The bulkhead, with this limit from now on. */
  enter(name: string, limit: number): Room {
    let room = this.#rooms.get(name);
    if (room === undefined) {
      room = new Room(name, this.#gates.open(`bulkhead:${name}`, limit, terms));
      this.#rooms.set(name, room);
      return room;
    }
    if (this.#idle.size > 0) this.#idle.delete(room);
    if (room.gate.limit !== limit) room.gate.resize(limit);
    return room;
  }

  /** To be called when someone has left: an idle one is remembered for as long as there are not too many of them. */
  leave(room: Room): void {
    if (!room.idle) return;
    this.#idle.add(room);
    if (this.#idle.size <= this.#maxIdle) return;
    const [oldest] = this.#idle;
    this.#idle.delete(oldest!);
    this.#rooms.delete(oldest!.name);
    this.#gates.forget(oldest!.gate.name);
  }

  /** @throws CoreError `BULKHEAD_NAME`, `BULKHEAD_LIMIT` */
  resize(name: string, limit: number): void {
    checkLimit(checkName(name), limit);
    this.#resized.set(name, limit);
    this.#rooms.get(name)?.gate.resize(limit);
  }

  /** Refuses all who wait. */
  close(): void {
    for (const room of this.#rooms.values()) this.#gates.forget(room.gate.name);
  }
}

function checkLimit(name: string, limit: number): void {
  if (!Number.isSafeInteger(limit) || limit < 1) throw badLimit(name, limit);
}
