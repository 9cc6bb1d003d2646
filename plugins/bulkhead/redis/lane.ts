import { badWeight } from "../errors.ts";
import type { BulkheadAnswer, BulkheadAsk } from "../store.ts";
import { Alarm } from "../../../core/alarm.ts";
import { type GrantKeeper, guardOf, RedisGrant } from "./grant.ts";
import type { Host } from "./host.ts";
import { LinkDown } from "./link.ts";
import {
  acquireArgs,
  type AcquireReply,
  acquireReply,
  adoptArgs,
  beatArgs,
  type BeatReply,
  beatReply,
  dueReply,
  flagsReply,
  leaveArgs,
  leaveReply,
  limitArgs,
  memberMs,
  releaseArgs,
  tickArgs,
} from "./operations.ts";
import { Waiting } from "./waiting.ts";

/** Most ids in one call of `beat`, and most permits in one of `adopt`. */
const perCall = 200;
/** How long (ms) a lane that nobody uses is remembered. */
const idleMs = 60_000;
/** How long (ms) who would not wait does so for the first connection, which has its client to load. */
const firstMs = 250;

/**
 * One bulkhead as one host sees it: a line of its own waiters in front of the line in Redis, in the same order, and the permits it
 * holds. Whoever waits has a ticket in Redis from the start, so order holds between hosts too; while Redis is away the line stays
 * here, and is asked for again in order.
 */
export class Lane implements GrantKeeper {
  readonly name: string;
  /** In order of arrival. */
  readonly waiters: Map<string, Waiting> = new Map();
  readonly held: Map<string, RedisGrant> = new Map();
  readonly #host: Host;
  readonly #keys: readonly string[];
  /** What Redis may still have of who is gone here, with the moment from which it has ended there by itself. */
  readonly #debts = new Map<string, number>();
  /** The limit that counts on this host. */
  limit = 1;
  /** The limit that Redis was told last. */
  #declared = 0;
  #joinedAt = -Infinity;
  /** Hosts that use this bulkhead, when last counted; 0 when never. */
  #members = 0;
  #epoch: string | undefined;
  #usedAt: number;
  #topFence = 0;
  readonly #beats: Alarm;
  readonly #ticks: Alarm;
  readonly #guards: Alarm;

  constructor(name: string, keys: readonly string[], host: Host) {
    this.name = name;
    this.#keys = keys;
    this.#host = host;
    this.#usedAt = host.clock.now();
    this.#beats = new Alarm(host.clock, () => this.#beat());
    this.#ticks = new Alarm(host.clock, () => this.#tick());
    this.#guards = new Alarm(host.clock, () => this.#guard());
  }

  get idle(): boolean {
    return this.waiters.size === 0 && this.held.size === 0;
  }

  /** Whether it need not be remembered. */
  get forgotten(): boolean {
    return this.idle && this.#debts.size === 0 && this.now() - this.#usedAt >= idleMs;
  }

  get heldWeight(): number {
    let sum = 0;
    for (const grant of this.held.values()) sum += grant.weight;
    return sum;
  }

  now(): number {
    return this.#host.clock.now();
  }

  /** Stops its timers: it will not be used any more. */
  off(): void {
    for (const alarm of [this.#beats, this.#ticks, this.#guards]) alarm.off();
  }

  acquire(ask: BulkheadAsk, limit: number): Promise<BulkheadAnswer> {
    return new Promise((resolve, reject) => {
      const one = new Waiting(this.#host.nextId(), ask, limit, this.now(), resolve, reject);
      this.#usedAt = one.since;
      this.limit = limit;
      this.waiters.set(one.id, one);
      one.watch(this.#host.clock, () => this.#timeUp(one), () => this.#abort(one));
      if (this.#host.link.up) this.#ask(one, false);
      else if (one.now && this.#host.link.first) one.arm(this.#host.clock, firstMs, () => this.#park(one));
      else this.#park(one);
      this.#stayAlive(one.ask.leaseMs);
    });
  }

  async giveBack(grant: RedisGrant): Promise<boolean> {
    grant.state = "back";
    this.held.delete(grant.id);
    const back = this.#send(releaseArgs(this.#host.id, [grant.id])).then(
      (reply) => {
        const { epoch, flags } = flagsReply(reply);
        this.#heard(epoch);
        return flags[0]!;
      },
      () => {
        this.#owe(grant.id, grant.leaseMs);
        return true;
      },
    );
    if (this.#host.outage) this.#admitHere();
    const result = await back;
    if (this.idle) this.#host.emptied();
    return result;
  }

  lose(grant: RedisGrant): void {
    if (grant.state !== "out") return;
    grant.state = "lost";
    this.held.delete(grant.id);
    // Where Redis still counts it, as after its clock was set back, others need not wait.
    this.#send(releaseArgs(this.#host.id, [grant.id])).catch(() => this.#owe(grant.id, grant.leaseMs));
    grant.tellLost(this.#host.onError);
    this.#host.events.lost?.(this.name);
    if (this.#host.outage) this.#admitHere();
    if (this.idle) this.#host.emptied();
  }

  /** Tells Redis a limit. */
  async resize(limit: number): Promise<void> {
    this.#declared = 0;
    this.limit = limit;
    if (!this.#host.link.up) return;
    const { nextMs, epoch } = dueReply(await this.#send(limitArgs(this.#host.id, limit)));
    this.#declared = limit;
    this.#heard(epoch);
    this.#due(nextMs);
  }

  /** Connected again. What is sent here goes before anything else. */
  up(): void {
    for (const [id, until] of this.#debts) {
      this.#debts.delete(id);
      if (until > this.now()) {
        this.#send(leaveArgs(this.#host.id, id, false)).catch(() => this.#owe(id, until - this.now()));
      }
    }
    this.#joinedAt = -Infinity;
    this.#adopt([...this.held.values()]);
    for (const one of [...this.waiters.values()]) if (one.state !== "leaving") this.#ask(one, one.sent);
  }

  /** Not connected any more. */
  down(): void {
    for (const one of this.waiters.values()) if (one.state === "queued") one.state = "parked";
  }

  /** The first attempt to connect has failed: who would not wait does so no more. */
  refused(): void {
    for (const one of [...this.waiters.values()]) if (one.now && one.state === "parked") this.#park(one);
  }

  /** Redis has been away for too long. */
  outage(): void {
    for (const one of [...this.waiters.values()]) if (one.state === "parked") this.#park(one);
  }

  /** Refuses who waits. */
  async drain(): Promise<void> {
    const left = [...this.waiters.values()].map((one) => {
      const told = this.#tellLeft(one);
      this.waiters.delete(one.id);
      one.deny("draining", this.now());
      return told;
    });
    await Promise.all(left);
  }

  #counted(members: number): void {
    if (members === 0) return;
    this.#members = members;
    this.#host.counted(members);
  }

  #send(args: readonly string[]): Promise<unknown> {
    return this.#host.link.run("main", this.#keys, args);
  }

  // Asking

  #ask(one: Waiting, again: boolean): void {
    const { ask } = one;
    const sent = this.now();
    const join = sent - this.#joinedAt > memberMs / 3;
    if (join) this.#joinedAt = sent;
    const declare = this.#declared !== one.limit;
    this.#declared = one.limit;
    if (again) one.moved = true;
    one.state = "asked";
    one.sent = true;
    one.knownAt = sent;
    if (one.now) one.arm(this.#host.clock, this.#host.link.patience, () => this.#decide(one, "full"));
    const call = {
      id: one.id,
      weight: ask.weight,
      leaseMs: ask.leaseMs,
      waitMs: one.left(sent),
      maxQueue: ask.maxQueue ?? Infinity,
      limit: one.limit,
      declare,
      again,
      ticket: one.ticket,
      silenceMs: this.#silence(ask.leaseMs),
      join,
    };
    this.#send(acquireArgs(this.#host.id, call)).then(
      (reply) => this.#asked(one, sent, acquireReply(reply)),
      (error) => this.#notAsked(one, error),
    );
  }

  #asked(one: Waiting, sent: number, reply: AcquireReply): void {
    this.#counted(reply.members);
    if (reply.status === "granted") this.#grant(one, reply.value, sent, reply.epoch);
    this.#heard(reply.epoch);
    if (one.state !== "asked") return;
    const retryAfter = Math.max(reply.nextMs, 0);
    if (reply.status === "queued") {
      one.state = "queued";
      one.ticket = reply.value;
      if (!one.moved) one.behind = reply.behind;
      this.#due(reply.nextMs);
    } else {
      this.waiters.delete(one.id);
      // Who was in line before has been turned away since.
      if (reply.status === "weight" && !one.moved) one.fail(badWeight(this.name, one.ask.weight, reply.value));
      else if (reply.status === "queue_full") one.deny("queue_full", this.now(), retryAfter);
      else one.deny("full", this.now(), retryAfter);
    }
  }

  #notAsked(one: Waiting, error: unknown): void {
    if (one.state !== "asked") return;
    if (error instanceof LinkDown) {
      one.state = "parked";
      if (this.#host.link.up) this.#ask(one, true);
      else this.#park(one);
    } else {
      this.waiters.delete(one.id);
      one.deny("unavailable", this.now(), 0, error);
    }
  }

  /** Waits for Redis, as far as the policy lets it. */
  #park(one: Waiting): void {
    if (one.now) return this.#decide(one, "full");
    if (this.#host.outage && !this.#mayStay(one)) return;
    if (this.waiters.size > (one.ask.maxQueue ?? Infinity)) this.#turnAway(one, "queue_full");
  }

  /**
   * Its time is over, and Redis does not say whether it has permits: the policy says what becomes of it. What Redis does when it
   * is heard of again, the next command to it undoes.
   */
  #decide(one: Waiting, otherwise: "full" | "timeout"): void {
    one.state = "parked";
    if (this.#mayStay(one)) this.#turnAway(one, otherwise);
  }

  /** Whether the policy neither lets it in nor turns it away. */
  #mayStay(one: Waiting): boolean {
    if (this.#host.policy !== "closed") {
      this.#admitHere();
      if (one.state !== "parked") return false;
      if (one.ask.weight <= this.#share(one)) return true;
    }
    this.#turnAway(one, "unavailable");
    return false;
  }

  #turnAway(one: Waiting, reason: "unavailable" | "full" | "queue_full" | "timeout"): void {
    this.waiters.delete(one.id);
    void this.#tellLeft(one);
    one.deny(reason, this.now(), 0, reason === "unavailable" ? this.#host.link.cause : undefined);
  }

  // Without Redis

  /** Permits that this host may give out by itself. */
  #share(one: Waiting): number {
    return this.#host.policy === "open"
      ? Infinity
      : Math.floor(one.limit / Math.max(this.#members || this.#host.members, this.#host.hosts));
  }

  /** Lets in, in order, whom the policy lets in while Redis is away. */
  #admitHere(): void {
    if (this.#host.policy === "closed") return;
    let used = this.heldWeight;
    for (const one of [...this.waiters.values()]) {
      if (one.state !== "parked") continue;
      if (one.ask.weight > this.#share(one)) continue;
      used += one.ask.weight;
      if (used > this.#share(one)) return;
      this.#topFence = Math.max(this.#topFence + 1, Date.now() * 1024);
      void this.#tellLeft(one);
      const grant = this.#admit(one, this.#topFence, Infinity, "");
      // Redis may be only slow: then it counts this one as soon as it goes on.
      if (this.#host.link.up) this.#adopt([grant]);
    }
  }

  // Granted

  #grant(one: Waiting, fence: number, sent: number, epoch: string): void {
    if (one.state === "done") return;
    this.#admit(one, fence, guardOf(sent, one.ask.leaseMs), epoch);
  }

  #admit(one: Waiting, fence: number, guard: number, epoch: string): RedisGrant {
    this.waiters.delete(one.id);
    const now = this.now();
    const facts = { waitedMs: now - one.since, position: one.behind, fence, guard, epoch };
    const grant = new RedisGrant(this, one.id, one.ask, facts);
    this.held.set(grant.id, grant);
    this.#topFence = Math.max(this.#topFence, fence);
    if (guard < Infinity) this.#guards.by(guard);
    one.settle(grant);
    return grant;
  }

  /** A message says that `id` was granted. */
  rung(id: string, fence: number): void {
    const one = this.waiters.get(id);
    if (one === undefined) return;
    if (fence < 0) {
      this.waiters.delete(one.id);
      return one.deny("full", this.now());
    }
    const { leaseMs } = one.ask;
    // It may have been written long ago, to a process that was stopped: then Redis is asked first.
    if (this.now() > guardOf(one.knownAt, leaseMs) - leaseMs / 4) return this.#beatOf([id]);
    const [first] = this.waiters.values();
    if (first !== one && first!.state === "queued" && first!.ticket < one.ticket) this.#passed(first!, one.ticket);
    this.#grant(one, fence, one.knownAt, this.#epoch ?? "");
  }

  /** Somebody was granted who came after `first`, so its message must have been lost: unless Redis says that it waits. */
  #passed(first: Waiting, ticket: number): void {
    if (first.moved) return;
    const count = () => {
      if (first.state === "queued" && !first.moved && first.ticket < ticket) this.#host.events.overtaken?.(this.name);
    };
    this.#beatOf([first.id], count);
  }

  // Leaving

  #timeUp(one: Waiting): void {
    if (one.state === "parked") return this.#decide(one, "timeout");
    one.state = "leaving";
    const sent = this.now();
    one.arm(this.#host.clock, this.#host.link.patience, () => this.#decide(one, "timeout"));
    this.#send(leaveArgs(this.#host.id, one.id, true)).then((reply) => {
      const { fence, epoch } = leaveReply(reply);
      if (fence >= 0) this.#grant(one, fence, sent, epoch);
      if (one.state !== "done") {
        this.waiters.delete(one.id);
        one.deny("timeout", this.now());
        if (this.idle) this.#host.emptied();
      }
      this.#heard(epoch);
    }, () => {
      if (one.state !== "done") this.#decide(one, "timeout");
    });
  }

  #abort(one: Waiting): void {
    this.waiters.delete(one.id);
    void this.#tellLeft(one);
    one.deny("cancelled", this.now(), 0, one.ask.signal?.reason);
    if (this.#host.outage) this.#admitHere();
  }

  async #tellLeft(one: Waiting): Promise<void> {
    if (!one.sent) return;
    try {
      await this.#send(leaveArgs(this.#host.id, one.id, false));
    } catch {
      this.#owe(one.id, this.#silence(one.ask.leaseMs));
    }
  }

  #owe(id: string, ms: number): void {
    this.#debts.set(id, this.now() + ms);
  }

  // Staying

  /** Waiters whose host is silent for so long (ms) are given up. */
  #silence(leaseMs: number): number {
    return Math.max(leaseMs, 3 * this.#host.tick);
  }

  #stayAlive(leaseMs: number): void {
    this.#beats.by(this.now() + Math.max(Math.min(leaseMs / 3, this.#host.tick), 10));
  }

  #beat(): void {
    const now = this.now();
    for (const [id, until] of this.#debts) if (until <= now) this.#debts.delete(id);
    if (this.waiters.size === 0 && this.held.size === 0) {
      if (this.#debts.size === 0) this.#host.emptied();
      return this.#beats.by(now + idleMs);
    }
    this.#usedAt = now;
    let lease = Infinity;
    const ids: string[] = [];
    for (const grant of this.held.values()) {
      lease = Math.min(lease, grant.leaseMs);
      if (grant.epoch !== "") ids.push(grant.id);
    }
    for (const one of this.waiters.values()) {
      lease = Math.min(lease, one.ask.leaseMs);
      if (one.state === "queued") ids.push(one.id);
    }
    this.#stayAlive(lease);
    if (!this.#host.link.up) return;
    for (let from = 0; from < ids.length; from += perCall) this.#beatOf(ids.slice(from, from + perCall));
  }

  #beatOf(ids: readonly string[], then?: () => void): void {
    const sent = this.now();
    let silence = 0;
    for (const id of ids) {
      const one = this.waiters.get(id);
      if (one !== undefined) silence = Math.max(silence, this.#silence(one.ask.leaseMs));
    }
    const join = sent - this.#joinedAt > memberMs / 3;
    if (join) this.#joinedAt = sent;
    this.#send(beatArgs(this.#host.id, silence, join, ids)).then((reply) => {
      this.#beaten(ids, sent, beatReply(reply));
      then?.();
    }, (error) => {
      // The connection's end is told to everybody elsewhere.
      if (!(error instanceof LinkDown)) this.#host.onError(error);
    });
  }

  #beaten(ids: readonly string[], sent: number, reply: BeatReply): void {
    this.#counted(reply.members);
    ids.forEach((id, index) => {
      const state = reply.state(index);
      const grant = this.held.get(id);
      const one = this.waiters.get(id);
      if (grant !== undefined) {
        if (state === true) this.#renew(grant, sent);
        // Where Redis has lost its data it is claimed again instead.
        else if (grant.epoch === reply.epoch) this.lose(grant);
      } else if (one !== undefined && one.state !== "asked") {
        if (state === true) this.#grant(one, reply.fence(index), sent, reply.epoch);
        else if (state === false) one.knownAt = sent;
        else if (one.state === "queued" && this.#epoch === reply.epoch) this.#ask(one, true);
      }
    });
    this.#heard(reply.epoch);
    this.#due(reply.nextMs);
  }

  #renew(grant: RedisGrant, sent: number): void {
    grant.guard = guardOf(sent, grant.leaseMs);
    this.#guards.by(grant.guard);
  }

  #guard(): void {
    let next = Infinity;
    for (const grant of [...this.held.values()]) if (!grant.lost) next = Math.min(next, grant.guard);
    if (next < Infinity) this.#guards.by(next);
  }

  /** Somebody's lease ends in `ms`, and others wait for it. */
  #due(ms: number): void {
    if (ms >= 0 && this.waiters.size > 0) this.#ticks.by(this.now() + ms + 1 + this.#host.random() * 2);
  }

  #tick(): void {
    if (this.waiters.size === 0 || !this.#host.link.up) return;
    this.#send(tickArgs(this.#host.id)).then((reply) => {
      const { nextMs, epoch } = dueReply(reply);
      this.#heard(epoch);
      this.#due(nextMs);
    }, () => {});
  }

  // After a loss of data

  #heard(epoch: string): void {
    const before = this.#epoch;
    this.#epoch = epoch;
    if (before === undefined || before === epoch) return;
    this.#declared = 0;
    this.#adopt([...this.held.values()].filter((grant) => grant.epoch !== epoch));
    for (const one of [...this.waiters.values()]) if (one.state === "queued") this.#ask(one, true);
  }

  /** Claims what is held: Redis may have lost it, or never have known. */
  #adopt(grants: readonly RedisGrant[]): void {
    for (let from = 0; from < grants.length; from += perCall) {
      const some = grants.slice(from, from + perCall);
      const sent = this.now();
      const calls = some.map(({ id, weight, leaseMs, fence, epoch }) => ({
        id,
        weight,
        leaseMs,
        fence,
        epoch,
        force: epoch === "",
      }));
      this.#send(adoptArgs(this.#host.id, this.limit, calls)).then((reply) => {
        const { epoch, flags } = flagsReply(reply);
        some.forEach((grant, index) => {
          if (grant.state !== "out") return;
          if (!flags[index]) return this.lose(grant);
          grant.epoch = epoch;
          // An answer that took longer than a lease says nothing of now.
          if (guardOf(sent, grant.leaseMs) > this.now()) this.#renew(grant, sent);
          else this.#beatOf([grant.id]);
        });
        this.#heard(epoch);
      }, () => {});
    }
  }
}
