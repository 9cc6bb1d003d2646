import type { BulkheadAnswer, BulkheadAsk } from "../store.ts";
import { Away } from "./away.ts";
import { Calls } from "./calls.ts";
import { LanePlace } from "./circles.ts";
import { Debts } from "./debts.ts";
import { type GrantKeeper, guardOf, RedisGrant } from "./grant.ts";
import type { Host } from "./host.ts";
import { inTime } from "../in_time.ts";
import { Line } from "./line.ts";
import { idleMs, Pulse } from "./pulse.ts";
import { Recovery } from "./recovery.ts";
import { Waiting } from "./waiting.ts";

/** How long (ms) who would not wait does so for the first connection, which has its client to load. */
const firstMs = 250;

/**
 * One bulkhead as one host sees it: a line of its own waiters in front of the line in Redis, in the same order, and the permits it
 * holds. Whoever waits has a ticket in Redis from the start, so order holds between hosts too; while Redis is away the line stays
 * here, and is asked for again in order.
 *
 * It has the state; its parts do what is to be done: `line` asks and answers, `pulse` keeps alive, `recovery` sees to what Redis has
 * lost, `away` to what it does not decide.
 */
export class Lane implements GrantKeeper {
  readonly name: string;
  readonly host: Host;
  /** In order of arrival. */
  readonly waiters: Map<string, Waiting> = new Map();
  readonly held: Map<string, RedisGrant> = new Map();
  readonly place: LanePlace = new LanePlace(this);
  readonly debts: Debts = new Debts();
  readonly calls: Calls;
  readonly line: Line;
  readonly away: Away;
  readonly pulse: Pulse;
  readonly recovery: Recovery;
  /** The limit that counts on this host. */
  limit = 1;
  /** Hosts that use this bulkhead, when last counted; 0 when never. */
  members = 0;
  #usedAt: number;
  #topFence = 0;

  constructor(name: string, keys: readonly string[], host: Host) {
    this.name = name;
    this.host = host;
    this.#usedAt = host.clock.now();
    this.calls = new Calls(host, keys);
    this.line = new Line(this);
    this.away = new Away(this);
    this.pulse = new Pulse(this);
    this.recovery = new Recovery(this);
  }

  get idle(): boolean {
    return this.waiters.size === 0 && this.held.size === 0;
  }

  /** Whether it need not be remembered. */
  get forgotten(): boolean {
    return this.idle && this.debts.none && this.now() - this.#usedAt >= idleMs;
  }

  get heldWeight(): number {
    let sum = 0;
    for (const grant of this.held.values()) sum += grant.weight;
    return sum;
  }

  now(): number {
    return this.host.clock.now();
  }

  /** Stops its timers: it will not be used any more. */
  off(): void {
    this.pulse.off();
  }

  acquire(ask: BulkheadAsk, limit: number): Promise<BulkheadAnswer> {
    const { link, clock, nextId } = this.host;
    return new Promise((resolve, reject) => {
      const one = new Waiting(nextId(), this.place, ask, limit, this.now(), resolve, reject);
      this.used(one.since);
      this.limit = limit;
      this.waiters.set(one.id, one);
      one.watch(clock, () => this.line.timeUp(one), () => this.line.abort(one));
      if (link.up) this.line.ask(one, false);
      else if (one.now && link.first) one.arm(clock, firstMs, () => this.away.park(one));
      else this.away.park(one);
      this.pulse.stayAlive(ask.leaseMs);
    });
  }

  /** Who gives back does not wait for a Redis that is slow: it hears of it when it can, or the lease ends. */
  async giveBack(grant: RedisGrant): Promise<boolean> {
    this.#ends(grant, "back");
    const back = this.calls.release(grant.id).then(
      ({ epoch, flags }) => {
        this.recovery.heard(epoch);
        return flags[0]!;
      },
      () => {
        this.owe(grant.id, grant.leaseMs);
        return true;
      },
    );
    if (this.host.outage) this.away.admit();
    void back.finally(() => this.ended());
    const { clock, link } = this.host;
    return await inTime(clock, link.haste, back, true);
  }

  lose(grant: RedisGrant): void {
    if (grant.state !== "out") return;
    this.#ends(grant, "lost");
    // Where Redis still counts it, as after its clock was set back, others need not wait.
    this.calls.release(grant.id).catch(() => this.owe(grant.id, grant.leaseMs));
    grant.tellLost(this.host.onError);
    this.host.events.lost?.(this.name);
    if (this.host.outage) this.away.admit();
    this.ended();
  }

  /** Tells Redis a limit. */
  async resize(limit: number): Promise<void> {
    this.calls.undeclare();
    this.limit = limit;
    if (!this.host.link.up) return;
    const { nextMs, epoch } = await this.calls.limit(limit);
    this.recovery.heard(epoch);
    this.pulse.due(nextMs);
  }

  /** Connected again. What is sent here goes before anything else. */
  up(): void {
    for (const [id, until] of this.debts.take(this.now())) {
      this.calls.leave(id, false).catch(() => this.debts.owe(id, until));
    }
    this.calls.rejoin();
    this.recovery.adopt([...this.held.values()]);
    for (const one of [...this.waiters.values()]) if (one.state !== "leaving") this.line.ask(one, one.sent);
  }

  /** Not connected any more. */
  down(): void {
    for (const one of this.waiters.values()) if (one.state === "queued") one.state = "parked";
  }

  /** The first attempt to connect has failed: who would not wait does so no more. */
  refused(): void {
    for (const one of [...this.waiters.values()]) if (one.now && one.state === "parked") this.away.park(one);
  }

  /** Redis has been away for too long. */
  outage(): void {
    for (const one of [...this.waiters.values()]) if (one.state === "parked") this.away.park(one);
  }

  /** Refuses who waits. */
  async drain(): Promise<void> {
    const left = [...this.waiters.values()].map((one) => {
      const told = this.line.left(one);
      this.parts(one);
      one.deny("draining", this.now());
      return told;
    });
    await Promise.all(left);
  }

  /** Redis has granted, at `sent` or later. */
  grant(one: Waiting, fence: number, sent: number, epoch: string): void {
    if (one.state !== "done") this.admit(one, fence, guardOf(sent, one.ask.leaseMs), epoch);
  }

  /** The permits are `one`'s: those of Redis, or, without an epoch, this host's own. */
  admit(one: Waiting, fence: number, guard: number, epoch: string): RedisGrant {
    this.parts(one);
    const { owners } = this.host;
    const owner = owners.of(one.ask.owner);
    const facts = { waitedMs: this.now() - one.since, position: one.behind, fence, guard, epoch };
    const grant = new RedisGrant(this, one.id, owner, one.ask, facts);
    this.held.set(grant.id, grant);
    if (owner !== undefined) owners.holds(owner, grant);
    this.#topFence = Math.max(this.#topFence, fence);
    this.pulse.watch(grant);
    one.settle(grant);
    return grant;
  }

  /** `one` does not wait any more. */
  parts(one: Waiting): void {
    this.waiters.delete(one.id);
    if (one.owner !== undefined) this.host.owners.left(one.owner, one);
    one.owner = undefined;
  }

  #ends(grant: RedisGrant, state: "back" | "lost"): void {
    grant.state = state;
    this.held.delete(grant.id);
    if (grant.owner !== undefined) this.host.owners.gaveUp(grant.owner, grant);
  }

  /** A fence of the host's own, above all that it has seen. */
  ownFence(): number {
    return this.#topFence = Math.max(this.#topFence + 1, Date.now() * 1024);
  }

  /** Redis may have something of `id` for so long (ms), and could not be told. */
  owe(id: string, ms: number): void {
    this.debts.owe(id, this.now() + ms);
  }

  /** So many hosts use it; 0 when they were not counted. */
  counted(members: number): void {
    if (members === 0) return;
    this.members = members;
    this.host.counted(members);
  }

  used(now: number): void {
    this.#usedAt = now;
  }

  /** Somebody has left. */
  ended(): void {
    if (this.idle) this.host.emptied();
  }
}
