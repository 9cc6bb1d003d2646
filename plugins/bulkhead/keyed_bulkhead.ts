import type {
  Bulkhead as BulkheadContract,
  BulkheadPermit,
  BulkheadWait,
  KeyedBulkhead as KeyedBulkheadContract,
} from "../../core/contracts/bulkheads.ts";
import type { Awaitable } from "../../core/plugin.ts";
import { Bulkhead, callWith, type StoreBulkheadOptions } from "./bulkhead.ts";
import type { StorePermit } from "./permit.ts";
import { type Seat, Seats } from "./seats.ts";

/** What a {@linkcode KeyedBulkhead} is made of. */
export interface StoreKeyedBulkheadOptions extends Omit<StoreBulkheadOptions, "key"> {
  /** Keys that may be in use at a time, each with permits of its own; 10,000 when absent. Those beyond share a few bulkheads. */
  readonly maxKeys?: number;
}

/**
 * A bulkhead for each key, all with the same limit. Nothing is kept of a key that nobody uses.
 *
 * @example
 * ```ts
 * const reports = new KeyedBulkhead({ name: "reports", maxConcurrent: 2, maxWait: 1000, store });
 * await reports.for(tenant.id).call(() => render(tenant));
 * ```
 */
export class KeyedBulkhead implements KeyedBulkheadContract {
  readonly name: string;
  readonly #seats: Seats;

  /** @throws CoreError as {@linkcode Bulkhead} does */
  constructor({ maxKeys = 10_000, ...options }: StoreKeyedBulkheadOptions) {
    this.name = new Bulkhead(options).name;
    this.#seats = new Seats(options.name, maxKeys, (key) => new Bulkhead({ ...options, key }));
  }

  /** Keys in use, those that share included. */
  get keys(): number {
    return this.#seats.size;
  }

  for(key: string): BulkheadContract {
    return new OneKey(this.#seats, key);
  }
}

/** The bulkhead of one key: it looks at each call which that is now. */
class OneKey implements BulkheadContract {
  readonly #seats: Seats;
  readonly #key: string;

  constructor(seats: Seats, key: string) {
    this.#seats = seats;
    this.#key = key;
  }

  get name(): string {
    return this.#seats.look(this.#key).name;
  }

  async acquire(wait?: BulkheadWait): Promise<BulkheadPermit> {
    return await this.#seated((bulkhead) => bulkhead.acquire(wait));
  }

  async tryAcquire(wait?: Omit<BulkheadWait, "maxWait">): Promise<BulkheadPermit | undefined> {
    return await this.#seated((bulkhead) => bulkhead.tryAcquire(wait));
  }

  async call<T>(work: (permit: BulkheadPermit) => Awaitable<T>, wait?: BulkheadWait): Promise<T> {
    return await callWith(await this.acquire(wait), work);
  }

  async availableSlots(): Promise<number> {
    return await this.#seats.look(this.#key).availableSlots();
  }

  async activeCount(): Promise<number> {
    return await this.#seats.look(this.#key).activeCount();
  }

  /** The key is in use from the question to the end of the permits. */
  async #seated<P extends StorePermit | undefined>(ask: (bulkhead: Bulkhead) => Promise<P>): Promise<P> {
    const seat: Seat = this.#seats.take(this.#key);
    let permit: P | undefined;
    try {
      permit = await ask(seat.bulkhead);
      return permit;
    } finally {
      if (permit === undefined) this.#seats.leave(seat);
      else permit.afterEnd(() => this.#seats.leave(seat));
    }
  }
}
