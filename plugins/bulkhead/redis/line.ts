import { badWeight } from "../errors.ts";
import { closesLaneCircle } from "./circles.ts";
import { guardOf } from "./grant.ts";
import type { Lane } from "./lane.ts";
import { LinkDown } from "./link.ts";
import type { AcquireReply } from "./operations.ts";
import type { Waiting } from "./waiting.ts";

/** The ways into the line in Redis and out of it: what is asked, what is answered, and what the doorbell says. */
export class Line {
  readonly #lane: Lane;

  constructor(lane: Lane) {
    this.#lane = lane;
  }

  /** Asks Redis; `again` when it may know of it. */
  ask(one: Waiting, again: boolean): void {
    const lane = this.#lane;
    const { link, clock } = lane.host;
    const sent = lane.now();
    if (again) one.moved = true;
    one.state = "asked";
    one.sent = true;
    one.knownAt = sent;
    if (one.now) one.arm(clock, link.patience, () => lane.away.decide(one, "full"));
    lane.calls.acquire(one, again, sent).then(
      (reply) => this.#asked(one, sent, reply),
      (error) => this.#notAsked(one, error),
    );
  }

  #asked(one: Waiting, sent: number, reply: AcquireReply): void {
    const lane = this.#lane;
    lane.counted(reply.members);
    if (reply.status === "granted") lane.grant(one, reply.value, sent, reply.epoch);
    lane.recovery.heard(reply.epoch);
    if (one.state !== "asked") return;
    const retryAfter = Math.max(reply.nextMs, 0);
    if (reply.status === "queued") {
      if (closesLaneCircle(lane, one)) {
        lane.parts(one);
        void this.left(one);
        return one.deny("deadlock", lane.now());
      }
      one.state = "queued";
      one.ticket = reply.value;
      if (!one.moved) one.behind = reply.behind;
      lane.pulse.due(reply.nextMs);
    } else {
      lane.parts(one);
      // Who was in line before has been turned away since.
      if (reply.status === "weight" && !one.moved) one.fail(badWeight(lane.name, one.ask.weight, reply.value));
      else if (reply.status === "queue_full") one.deny("queue_full", lane.now(), retryAfter);
      else one.deny("full", lane.now(), retryAfter);
    }
  }

  #notAsked(one: Waiting, error: unknown): void {
    if (one.state !== "asked") return;
    const lane = this.#lane;
    if (error instanceof LinkDown) {
      one.state = "parked";
      if (lane.host.link.up) this.ask(one, true);
      else lane.away.park(one);
    } else {
      lane.parts(one);
      one.deny("unavailable", lane.now(), 0, error);
    }
  }

  /** A message says that `id` was granted. */
  rung(id: string, fence: number): void {
    const lane = this.#lane;
    const one = lane.waiters.get(id);
    if (one === undefined) return;
    if (fence < 0) {
      lane.parts(one);
      return one.deny("full", lane.now());
    }
    const { leaseMs } = one.ask;
    // It may have been written long ago, to a process that was stopped: then Redis is asked first.
    if (lane.now() > guardOf(one.knownAt, leaseMs) - leaseMs / 4) return lane.pulse.beatOf([id]);
    const [first] = lane.waiters.values();
    if (first !== one && first!.state === "queued" && first!.ticket < one.ticket) this.#passed(first!, one.ticket);
    lane.grant(one, fence, one.knownAt, lane.recovery.epoch ?? "");
  }

  /** Somebody was granted who came after `first`, so its message must have been lost: unless Redis says that it waits. */
  #passed(first: Waiting, ticket: number): void {
    if (first.moved) return;
    const { host, name } = this.#lane;
    const count = () => {
      if (first.state === "queued" && !first.moved && first.ticket < ticket) host.events.overtaken?.(name);
    };
    this.#lane.pulse.beatOf([first.id], count);
  }

  /** Its time is over: Redis is asked, for a moment, whether it was granted at the last one. */
  timeUp(one: Waiting): void {
    const lane = this.#lane;
    const { clock, link } = lane.host;
    const decide = () => lane.away.decide(one, "timeout");
    if (one.state === "parked") return decide();
    one.state = "leaving";
    const sent = lane.now();
    one.arm(clock, link.patience, decide);
    lane.calls.leave(one.id, true).then(({ fence, epoch }) => {
      if (fence >= 0) lane.grant(one, fence, sent, epoch);
      if (one.state !== "done") {
        lane.parts(one);
        one.deny("timeout", lane.now());
        lane.ended();
      }
      lane.recovery.heard(epoch);
    }, () => {
      if (one.state !== "done") decide();
    });
  }

  /** Its caller has left. */
  abort(one: Waiting): void {
    const lane = this.#lane;
    lane.parts(one);
    void this.left(one);
    one.deny("cancelled", lane.now(), 0, one.ask.signal?.reason);
    if (lane.host.outage) lane.away.admit();
  }

  /** Tells Redis that nobody waits any more for what `one` asked for, at once or when it is back. */
  async left(one: Waiting): Promise<void> {
    if (!one.sent) return;
    const lane = this.#lane;
    try {
      await lane.calls.leave(one.id, false);
    } catch {
      lane.owe(one.id, lane.calls.silence(one.ask.leaseMs));
    }
  }
}
