import { type Clock, systemClock } from "../../../core/clock.ts";
import { badLimit, badWeight } from "../errors.ts";
import { inTime } from "../in_time.ts";
import type { BulkheadView, InspectableStore } from "../inspect.ts";
import { KnownOwners } from "../known_owners.ts";
import { checkName } from "../name.ts";
import type { BulkheadAnswer, BulkheadAsk, BulkheadCounts } from "../store.ts";
import { throwLater } from "../throw_later.ts";
import type { Host } from "./host.ts";
import { channelOf, checkPrefix, defaultPrefix, keysOf } from "./keys.ts";
import { Lane } from "./lane.ts";
import { laneView } from "./lane_view.ts";
import { LinkDown, RedisLink } from "./link.ts";
import { doorbell } from "./operations.ts";
import { Reach, reasonOf } from "./reach.ts";
import type { RedisStoreOptions } from "./redis_options.ts";
import { countsScript, mainScript } from "./script.ts";

/** Bulkheads that one look shows: each is a command. */
const mostViews = 1000;

/**
 * Permits in Redis 7 or Valkey, for all hosts that share it: first come first served, pushed to who waits, with leases that this
 * host renews for as long as it lives.
 *
 * An efficiency lock: no more than the limit run at once as long as Redis keeps what it has acknowledged. A failover to a replica
 * that lags, or a process stopped for longer than its lease, can let in more for one lease at most; what must not bear that compares
 * fences.
 *
 * @example
 * ```ts
 * const store = new RedisStore({ dial: dialRedis({ url: "redis://127.0.0.1:6379" }) });
 * await store.start();
 * const answer = await store.acquire({ name: "reports", limit: 5, weight: 1, leaseMs: 5000, maxWaitMs: 200 });
 * ```
 */
export class RedisStore implements InspectableStore {
  readonly kind = "redis";
  readonly #options: RedisStoreOptions;
  readonly #prefix: string;
  readonly #clock: Clock;
  readonly #link: RedisLink<"main" | "counts">;
  readonly #host: Host;
  readonly #lanes = new Map<string, Lane>();
  readonly #reach: Reach;
  /** What `resize` has said, which counts as configured. */
  readonly #resized = new Map<string, number>();
  #starting: Promise<void> | undefined;
  #started = false;
  #closed = false;
  #members = 1;
  #ids = 0;

  constructor(options: RedisStoreOptions) {
    this.#options = options;
    this.#prefix = checkPrefix(options.prefix ?? defaultPrefix);
    this.#clock = options.clock ?? systemClock;
    const random = options.random ?? Math.random;
    const id = hostId();
    this.#reach = new Reach({
      lanes: this.#lanes,
      clock: this.#clock,
      policy: options.outage ?? "closed",
      grace: options.grace ?? 500,
      log: options.log,
    });
    const script = { ...options.script, prefix: this.#prefix };
    this.#link = new RedisLink({
      dial: options.dial,
      channel: channelOf(this.#prefix, id),
      scripts: { main: mainScript(script), counts: countsScript(script) },
      clock: this.#clock,
      commandTimeout: options.commandTimeout ?? 2000,
      random,
      onUp: () => this.#reach.up(),
      onDown: (cause) => this.#reach.down(cause),
      onRefused: (cause) => this.#reach.refused(cause),
      onMessage: (text) => {
        const bell = doorbell(text);
        this.#lanes.get(bell.name)?.line.rung(bell.id, bell.fence);
      },
    });
    this.#host = this.#makeHost(id, random);
  }

  /** Commands sent to Redis so far. */
  get commands(): number {
    return this.#link.commands;
  }

  /** Why permits cannot be asked for, if they cannot. */
  get problem(): string | undefined {
    return this.#link.up ? undefined : `Redis is not reached: ${reasonOf(this.#link.cause)}`;
  }

  /** Whether Redis is reached now. */
  get connected(): boolean {
    return this.#link.up;
  }

  /** Hosts that used the bulkhead that was counted last, this one included. */
  get members(): number {
    return this.#members;
  }

  /** Connects. Resolves when the first attempt has ended, well or not: it goes on trying. The first `acquire` does it too. */
  start(): Promise<void> {
    this.#starting ??= (async () => {
      await this.#link.start();
      this.#started = true;
    })();
    return this.#starting;
  }

  async acquire(ask: BulkheadAsk): Promise<BulkheadAnswer> {
    const limit = this.#limitFor(ask);
    if (ask.signal?.aborted) {
      return { granted: false, reason: "cancelled", waitedMs: 0, retryAfterMs: 0, cause: ask.signal.reason };
    }
    if (this.#closed) return { granted: false, reason: "draining", waitedMs: 0, retryAfterMs: 0 };
    // Its time runs meanwhile.
    if (!this.#started) void this.start();
    return await this.#lane(ask.name).acquire(ask, limit);
  }

  async counts(name: string): Promise<BulkheadCounts | undefined> {
    checkName(name);
    if (!this.#started) await this.start();
    const cap = this.#capOf(name);
    const none = cap === undefined ? undefined : { limit: cap, active: 0, holders: 0, queued: 0, oldestWaitMs: 0 };
    try {
      const reply = await this.#link.run("counts", keysOf(this.#prefix, name), []);
      const [limit, active, holders, queued, oldestWaitMs] = reply as number[];
      if (limit === undefined) return none;
      return { limit, active: active!, holders: holders!, queued: queued!, oldestWaitMs: oldestWaitMs! };
    } catch (error) {
      if (!(error instanceof LinkDown)) throw error;
      // What this host knows by itself.
      const lane = this.#lanes.get(name);
      if (lane === undefined) return none;
      const [first] = lane.waiters.values();
      const oldestWaitMs = first === undefined ? 0 : this.#clock.now() - first.since;
      const { size: holders } = lane.held;
      return { limit: cap ?? lane.limit, active: lane.heldWeight, holders, queued: lane.waiters.size, oldestWaitMs };
    }
  }

  async look(name?: string): Promise<Iterable<BulkheadView>> {
    const lanes: Lane[] = [];
    for (const lane of name === undefined ? this.#lanes.values() : [this.#lanes.get(name)]) {
      if (lanes.length === mostViews) break;
      if (lane !== undefined) lanes.push(lane);
    }
    // A reply may come when the lane has been forgotten: its people are nobody then.
    const views = lanes.map(async (lane) => {
      const counts = await this.counts(lane.name);
      return counts === undefined ? [] : [laneView(lane, counts)];
    });
    return (await Promise.all(views)).flat();
  }

  async resize(name: string, limit: number): Promise<void> {
    checkName(name);
    if (!Number.isSafeInteger(limit) || limit < 1) throw badLimit(name, limit);
    if (!this.#started) await this.start();
    this.#resized.set(name, limit);
    try {
      await this.#lane(name).resize(limit);
    } catch (error) {
      // It is told with the next ask.
      if (!(error instanceof LinkDown)) throw error;
    }
  }

  /** Refuses who waits and who comes. The connection lasts until the last permit has been given back or lost. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#reach.close();
    const told = Promise.all([...this.#lanes.values()].map((lane) => lane.drain())).then(() => this.#starting);
    // What Redis does not hear of ends with its time: nobody's end waits for that.
    await inTime(this.#clock, this.#link.patience, told, undefined);
    this.#emptied();
  }

  #makeHost(id: string, random: () => number): Host {
    const options = this.#options;
    const reach = this.#reach;
    const members = () => this.#members;
    return {
      id,
      link: this.#link,
      owners: new KnownOwners(),
      clock: this.#clock,
      policy: options.outage ?? "closed",
      events: options.events ?? {},
      tick: options.tick ?? 1000,
      onError: options.onError ?? throwLater,
      random,
      get outage() {
        return reach.outage;
      },
      get members() {
        return members();
      },
      counted: (count) => void (this.#members = Math.max(count, 1)),
      hosts: options.hosts ?? 1,
      emptied: () => this.#emptied(),
      nextId: () => `${id}.${(this.#ids++).toString(36)}`,
    };
  }

  #lane(name: string): Lane {
    let lane = this.#lanes.get(name);
    if (lane === undefined) {
      lane = new Lane(name, keysOf(this.#prefix, name), this.#host);
      this.#lanes.set(name, lane);
    }
    return lane;
  }

  #limitFor({ name, limit, weight }: BulkheadAsk): number {
    if (!this.#lanes.has(name)) checkName(name);
    if (!Number.isSafeInteger(limit) || limit < 1) throw badLimit(name, limit);
    const counts = Math.min(limit, this.#capOf(name) ?? Infinity);
    if (!Number.isInteger(weight) || weight < 1 || weight > counts) throw badWeight(name, weight, counts);
    return counts;
  }

  #capOf(name: string): number | undefined {
    return this.#resized.get(name) ?? this.#options.limits?.of(name)?.maxConcurrent;
  }

  /** Forgets lanes that nobody uses, and hangs up when it is closed and nobody is left. */
  #emptied(): void {
    for (const [name, lane] of this.#lanes) {
      if (this.#closed ? lane.idle : lane.forgotten) {
        lane.off();
        this.#lanes.delete(name);
        // The oldest come first, roughly: there is no need to look at all of them.
      } else if (!this.#closed) break;
    }
    if (!this.#closed || this.#lanes.size > 0) return;
    this.#reach.off();
    this.#link.close();
  }
}

/** What no other host has: 80 bits. */
function hostId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(10));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
