import type { Lane } from "./lane.ts";
import type { Waiting } from "./waiting.ts";

/** What is done where Redis does not decide: it is away, or says nothing when somebody's time is over. The policy of the host counts. */
export class Away {
  readonly #lane: Lane;

  constructor(lane: Lane) {
    this.#lane = lane;
  }

  /** Waits for Redis, as far as the policy lets it. */
  park(one: Waiting): void {
    const { host, waiters } = this.#lane;
    if (one.now) return this.decide(one, "full");
    if (host.outage && !this.#mayStay(one)) return;
    if (waiters.size > (one.ask.maxQueue ?? Infinity)) this.#turnAway(one, "queue_full");
  }

  /**
   * Its time is over, and Redis does not say whether it has permits: the policy says what becomes of it. What Redis does when it
   * is heard of again, the next command to it undoes.
   */
  decide(one: Waiting, otherwise: "full" | "timeout"): void {
    one.state = "parked";
    if (this.#mayStay(one)) this.#turnAway(one, otherwise);
  }

  /** Lets in, in order, whom the policy lets in. */
  admit(): void {
    const lane = this.#lane;
    if (lane.host.policy === "closed") return;
    let used = lane.heldWeight;
    for (const one of [...lane.waiters.values()]) {
      if (one.state !== "parked") continue;
      if (one.ask.weight > this.#share(one)) continue;
      used += one.ask.weight;
      if (used > this.#share(one)) return;
      void lane.line.left(one);
      const grant = lane.admit(one, lane.ownFence(), Infinity, "");
      // Redis may be only slow: then it counts this one as soon as it goes on.
      if (lane.host.link.up) lane.recovery.adopt([grant]);
    }
  }

  /** Permits that this host may give out by itself. */
  #share(one: Waiting): number {
    const { host, members } = this.#lane;
    return host.policy === "open" ? Infinity : Math.floor(one.limit / Math.max(members || host.members, host.hosts));
  }

  /** Whether the policy neither lets it in nor turns it away. */
  #mayStay(one: Waiting): boolean {
    if (this.#lane.host.policy !== "closed") {
      this.admit();
      if (one.state !== "parked") return false;
      if (one.ask.weight <= this.#share(one)) return true;
    }
    this.#turnAway(one, "unavailable");
    return false;
  }

  #turnAway(one: Waiting, reason: "unavailable" | "full" | "queue_full" | "timeout"): void {
    const lane = this.#lane;
    lane.parts(one);
    void lane.line.left(one);
    one.deny(reason, lane.now(), 0, reason === "unavailable" ? lane.host.link.cause : undefined);
  }
}
