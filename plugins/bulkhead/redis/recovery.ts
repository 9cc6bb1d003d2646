import { perCall } from "./calls.ts";
import { guardOf, type RedisGrant } from "./grant.ts";
import type { Lane } from "./lane.ts";
import { LinkDown } from "./link.ts";

/** Notices that Redis has lost a bulkhead, claims again what this host holds of it, and asks again for those who wait. */
export class Recovery {
  readonly #lane: Lane;
  /** Changes when Redis has lost the bulkhead; undefined until it was heard of. */
  epoch: string | undefined;

  constructor(lane: Lane) {
    this.#lane = lane;
  }

  /** What Redis said with its last answer. */
  heard(epoch: string): void {
    const lane = this.#lane;
    const before = this.epoch;
    this.epoch = epoch;
    if (before === undefined || before === epoch) return;
    lane.calls.undeclare();
    this.adopt([...lane.held.values()].filter((grant) => grant.epoch !== epoch));
    for (const one of [...lane.waiters.values()]) if (one.state === "queued") lane.line.ask(one, true);
  }

  /** Claims what is held: Redis may have lost it, or never have known. */
  adopt(grants: readonly RedisGrant[]): void {
    for (let from = 0; from < grants.length; from += perCall) this.#claim(grants.slice(from, from + perCall));
  }

  #claim(grants: readonly RedisGrant[]): void {
    const lane = this.#lane;
    const sent = lane.now();
    lane.calls.adopt(lane.limit, grants).then(({ epoch, flags }) => {
      grants.forEach((grant, index) => {
        if (grant.state !== "out") return;
        if (!flags[index]) return lane.lose(grant);
        grant.epoch = epoch;
        // An answer that took longer than a lease says nothing of now.
        if (guardOf(sent, grant.leaseMs) > lane.now()) lane.pulse.renew(grant, sent);
        else lane.pulse.beatOf([grant.id]);
      });
      this.heard(epoch);
    }, (error) => {
      // The connection's end is told to everybody elsewhere.
      if (!(error instanceof LinkDown)) lane.host.onError(error);
    });
  }
}
