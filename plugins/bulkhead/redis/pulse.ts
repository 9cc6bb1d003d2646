import { Alarm } from "../../../core/alarm.ts";
import { perCall } from "./calls.ts";
import { guardOf, type RedisGrant } from "./grant.ts";
import type { Lane } from "./lane.ts";
import { LinkDown } from "./link.ts";
import type { BeatReply } from "./operations.ts";

/** How long (ms) a lane that nobody uses is remembered. */
export const idleMs = 60_000;

/**
 * What a lane does by the clock: it says that those who hold and wait live, looks when somebody's lease may have ended, and counts
 * permits as lost before theirs can have.
 */
export class Pulse {
  readonly #lane: Lane;
  readonly #beats: Alarm;
  readonly #ticks: Alarm;
  readonly #guards: Alarm;

  constructor(lane: Lane) {
    this.#lane = lane;
    const { clock } = lane.host;
    this.#beats = new Alarm(clock, () => this.#beat());
    this.#ticks = new Alarm(clock, () => this.#tick());
    this.#guards = new Alarm(clock, () => this.#guard());
  }

  off(): void {
    for (const alarm of [this.#beats, this.#ticks, this.#guards]) alarm.off();
  }

  /** Somebody with such a lease holds or waits. */
  stayAlive(leaseMs: number): void {
    const { tick } = this.#lane.host;
    this.#beats.by(this.#lane.now() + Math.max(Math.min(leaseMs / 3, tick), 10));
  }

  /** A permit counts as lost at its guard. */
  watch({ guard }: RedisGrant): void {
    if (guard < Infinity) this.#guards.by(guard);
  }

  /** Redis has extended the lease, at `sent` or later. */
  renew(grant: RedisGrant, sent: number): void {
    grant.guard = guardOf(sent, grant.leaseMs);
    this.#guards.by(grant.guard);
  }

  /** Somebody's lease ends in `ms`, and others wait for it. */
  due(ms: number): void {
    const { waiters, host } = this.#lane;
    if (ms >= 0 && waiters.size > 0) this.#ticks.by(this.#lane.now() + ms + 1 + host.random() * 2);
  }

  /** Asks what has become of these, and lets those that are there stay. */
  beatOf(ids: readonly string[], then?: () => void): void {
    const { waiters, calls, host } = this.#lane;
    const sent = this.#lane.now();
    let silence = 0;
    for (const id of ids) {
      const one = waiters.get(id);
      if (one !== undefined) silence = Math.max(silence, calls.silence(one.ask.leaseMs));
    }
    calls.beat(ids, silence, sent).then((reply) => {
      this.#beaten(ids, sent, reply);
      then?.();
    }, (error) => {
      // The connection's end is told to everybody elsewhere.
      if (!(error instanceof LinkDown)) host.onError(error);
    });
  }

  #beat(): void {
    const { waiters, held, debts, host } = this.#lane;
    const now = this.#lane.now();
    debts.sweep(now);
    if (waiters.size === 0 && held.size === 0) {
      if (debts.none) host.emptied();
      return this.#beats.by(now + idleMs);
    }
    this.#lane.used(now);
    let lease = Infinity;
    const ids: string[] = [];
    for (const grant of held.values()) {
      lease = Math.min(lease, grant.leaseMs);
      if (grant.epoch !== "") ids.push(grant.id);
    }
    for (const one of waiters.values()) {
      lease = Math.min(lease, one.ask.leaseMs);
      if (one.state === "queued") ids.push(one.id);
    }
    this.stayAlive(lease);
    if (!host.link.up) return;
    for (let from = 0; from < ids.length; from += perCall) this.beatOf(ids.slice(from, from + perCall));
  }

  #beaten(ids: readonly string[], sent: number, reply: BeatReply): void {
    const lane = this.#lane;
    lane.counted(reply.members);
    ids.forEach((id, index) => {
      const state = reply.state(index);
      const grant = lane.held.get(id);
      const one = lane.waiters.get(id);
      if (grant !== undefined) {
        if (state === true) this.renew(grant, sent);
        // Where Redis has lost its data it is claimed again instead.
        else if (grant.epoch === reply.epoch) lane.lose(grant);
      } else if (one !== undefined && one.state !== "asked") {
        if (state === true) lane.grant(one, reply.fence(index), sent, reply.epoch);
        else if (state === false) one.knownAt = sent;
        else if (one.state === "queued" && lane.recovery.epoch === reply.epoch) lane.line.ask(one, true);
      }
    });
    lane.recovery.heard(reply.epoch);
    this.due(reply.nextMs);
  }

  #guard(): void {
    let next = Infinity;
    for (const grant of [...this.#lane.held.values()]) if (!grant.lost) next = Math.min(next, grant.guard);
    if (next < Infinity) this.#guards.by(next);
  }

  #tick(): void {
    const lane = this.#lane;
    if (lane.waiters.size === 0 || !lane.host.link.up) return;
    lane.calls.tick().then(({ nextMs, epoch }) => {
      lane.recovery.heard(epoch);
      this.due(nextMs);
    }, () => {});
  }
}
