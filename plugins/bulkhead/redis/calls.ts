import type { RedisGrant } from "./grant.ts";
import type { Host } from "./host.ts";
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
import type { Waiting } from "./waiting.ts";

/** Most ids in one call of `beat`, and most permits in one of `adopt`. */
export const perCall = 200;

/** What one host says of one bulkhead to Redis. Calls are carried out in the order they are made; each may reject with `LinkDown`. */
export class Calls {
  readonly #host: Host;
  readonly #keys: readonly string[];
  /** The limit that Redis was told last; 0 when it is to be told. */
  #declared = 0;
  /** When the host was counted last. */
  #joinedAt = -Infinity;

  constructor(host: Host, keys: readonly string[]) {
    this.#host = host;
    this.#keys = keys;
  }

  /** Redis has lost the limit. */
  undeclare(): void {
    this.#declared = 0;
  }

  /** Connected again: the host is to be counted anew. */
  rejoin(): void {
    this.#joinedAt = -Infinity;
  }

  /** Waiters whose host is silent for so long (ms) are given up. */
  silence(leaseMs: number): number {
    return Math.max(leaseMs, 3 * this.#host.tick);
  }

  /** Asks for permits. `again`: Redis may know of it. */
  async acquire(one: Waiting, again: boolean, now: number): Promise<AcquireReply> {
    const { ask, limit } = one;
    const declare = this.#declared !== limit;
    this.#declared = limit;
    const args = acquireArgs(this.#host.id, {
      id: one.id,
      weight: ask.weight,
      leaseMs: ask.leaseMs,
      waitMs: one.left(now),
      maxQueue: ask.maxQueue ?? Infinity,
      limit,
      declare,
      again,
      ticket: one.ticket,
      silenceMs: this.silence(ask.leaseMs),
      join: this.#join(now),
    });
    try {
      return acquireReply(await this.#send(args));
    } catch (error) {
      // It may not have heard of the limit.
      if (declare) this.#declared = 0;
      throw error;
    }
  }

  /** Ends a wait; `keep` when permits that were granted meanwhile are still welcome. */
  async leave(id: string, keep: boolean): Promise<ReturnType<typeof leaveReply>> {
    return leaveReply(await this.#send(leaveArgs(this.#host.id, id, keep)));
  }

  /** Gives permits back; the flag says whether they were still ours. */
  async release(id: string): Promise<ReturnType<typeof flagsReply>> {
    return flagsReply(await this.#send(releaseArgs(this.#host.id, [id])));
  }

  /** Says that the host lives, and with it those who hold or wait. */
  async beat(ids: readonly string[], silenceMs: number, now: number): Promise<BeatReply> {
    return beatReply(await this.#send(beatArgs(this.#host.id, silenceMs, this.#join(now), ids)));
  }

  async tick(): Promise<ReturnType<typeof dueReply>> {
    return dueReply(await this.#send(tickArgs(this.#host.id)));
  }

  async limit(limit: number): Promise<ReturnType<typeof dueReply>> {
    const reply = dueReply(await this.#send(limitArgs(this.#host.id, limit)));
    this.#declared = limit;
    return reply;
  }

  /** Claims permits: Redis may have lost them, or never have known those that the host gave out by itself. */
  async adopt(limit: number, grants: readonly RedisGrant[]): Promise<ReturnType<typeof flagsReply>> {
    const claims = grants.map(({ id, weight, leaseMs, fence, epoch }) => ({
      id,
      weight,
      leaseMs,
      fence,
      epoch,
      force: epoch === "",
    }));
    return flagsReply(await this.#send(adoptArgs(this.#host.id, limit, claims)));
  }

  /** Whether it is time to be counted again. */
  #join(now: number): boolean {
    if (now - this.#joinedAt <= memberMs / 3) return false;
    this.#joinedAt = now;
    return true;
  }

  #send(args: readonly string[]): Promise<unknown> {
    return this.#host.link.run("main", this.#keys, args);
  }
}
