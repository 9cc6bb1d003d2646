import type { Clock } from "../../core/clock.ts";
import type { MemoryGrant } from "./memory_grant.ts";

/** When the lease of `grant` ends, if its owner is not heard of before. */
function endsAt({ since, leaseMs, owner }: MemoryGrant): number {
  return Math.max(since, owner?.heardAt ?? 0) + leaseMs;
}

/**
 * Permits whose owners can vanish. One timer serves them all; an owner that is heard of costs nothing but a number, as the
 * timer looks when it rings.
 */
export class Leases {
  readonly #clock: Clock;
  readonly #expired: (grant: MemoryGrant) => void;
  readonly #watched = new Set<MemoryGrant>();
  #at = Infinity;
  #off: (() => void) | undefined = undefined;

  constructor(clock: Clock, expired: (grant: MemoryGrant) => void) {
    this.#clock = clock;
    this.#expired = expired;
  }

  watch(grant: MemoryGrant): void {
    this.#watched.add(grant);
    this.#ringAt(endsAt(grant));
  }

  forget(grant: MemoryGrant): void {
    this.#watched.delete(grant);
    if (this.#watched.size === 0) this.off();
  }

  off(): void {
    this.#off?.();
    this.#off = undefined;
    this.#at = Infinity;
  }

  #ringAt(at: number): void {
    if (at >= this.#at) return;
    this.#off?.();
    this.#at = at;
    this.#off = this.#clock.setTimer(at - this.#clock.now(), () => this.#ring());
  }

  #ring(): void {
    this.#off = undefined;
    this.#at = Infinity;
    const now = this.#clock.now();
    let next = Infinity;
    // Who is granted permits by an end that comes here is watched at the end of the set, and so is looked at too.
    for (const grant of this.#watched) {
      const at = endsAt(grant);
      if (at <= now) this.#expired(grant);
      else next = Math.min(next, at);
    }
    this.#ringAt(next);
  }
}
