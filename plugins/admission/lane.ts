import type { Criticality, Refusal, Waiter } from "../../core/contracts/gates.ts";
import type { Exchange } from "../../core/exchange.ts";
import type { Awaitable, Permit } from "../../core/plugin.ts";
import type { FairGate } from "./fair_gate.ts";
import type { LaneMeter, Outcome } from "./metrics.ts";
import { refusal } from "./refusal.ts";
import { WaiterBase } from "./queue_node.ts";

/** A wait (ms) after which listeners have looked for clients that left anyway. */
export const shortMs = 50;

const outcomes: Readonly<Record<Refusal, Outcome>> = {
  full: "shed_full",
  grace: "shed_grace",
  deadline: "deadline",
  draining: "drained",
  cancelled: "cancelled",
  predicted: "shed_predicted",
  class: "shed_class",
  evicted: "shed_evicted",
  key: "key_cap",
  codel: "shed_codel",
};

/** A gate, what is counted of it, and how long an exchange will wait there. */
export interface LaneParts {
  readonly gate: FairGate;
  readonly meter: LaneMeter;
  /** The latest moment at which letting it in is of use to who asks, in ms on the gate's clock. */
  readonly patience: (x: Exchange) => number;
  readonly now: () => number;
}

/** Counts a refusal and answers it. */
export function turnAway({ gate, meter }: LaneParts, reason: Refusal, criticality: Criticality = "critical"): Response {
  meter.of(criticality).total[outcomes[reason]].inc();
  return refusal(reason, () => gate.retryAfter());
}

/** The header that tells who waited how long. */
export function waited(ms: number): readonly [name: string, value: string] {
  return ["server-timing", `adm;dur=${ms.toFixed(1)}`];
}

/** Where exchanges of one kind are let in. */
export interface Lane {
  /** A permit, or an answer; nothing for what needs no permit. */
  admit(x: Exchange): Awaitable<Permit | Response | void>;
}

/**
 * Exchanges on their way through one gate that are all alike. Those who need not wait share one permit object, which has no state,
 * and allocate nothing; who waits has its permit in what it waits with.
 */
export class PlainLane implements Lane {
  readonly parts: LaneParts;
  readonly permit: Permit;
  readonly #gate: FairGate;
  readonly #count: ReturnType<LaneMeter["of"]>;

  constructor(parts: LaneParts) {
    const { gate, meter } = parts;
    this.parts = parts;
    this.#gate = gate;
    this.#count = meter.of("critical");
    this.permit = { release: () => gate.leave() };
  }

  admit(x: Exchange): Awaitable<Permit | Response> {
    return this.#gate.tryEnter() ? this.#atOnce() : this.#wait(x);
  }

  letIn(outcome: "immediate" | "queued", waitedMs: number): void {
    this.#count.wait.observe(waitedMs / 1000);
    this.#count.total[outcome].inc();
  }

  #atOnce(): Permit {
    this.letIn("immediate", 0);
    return this.permit;
  }

  #wait(x: Exchange): Awaitable<Permit | Response> {
    const waiting = new Waiting(this, x);
    const verdict = this.#gate.enter(waiting);
    if (verdict === "queued") return waiting.begin();
    return verdict === "granted" ? this.#atOnce() : turnAway(this.parts, verdict);
  }
}

/** One exchange in line, and then its permit: the gate learns from it how long permits are out. */
class Waiting extends WaiterBase implements Waiter, Permit {
  readonly deadline: number;
  readonly #lane: PlainLane;
  readonly #x: Exchange;
  readonly #ahead: number;
  #settle: ((verdict: Permit | Response) => void) | undefined = undefined;
  #stay: (() => void) | undefined = undefined;

  constructor(lane: PlainLane, x: Exchange) {
    super();
    this.deadline = lane.parts.patience(x);
    this.#lane = lane;
    this.#x = x;
    this.#ahead = lane.parts.gate.queuedWeight;
  }

  begin(): Promise<Permit | Response> {
    return new Promise((resolve) => {
      this.#settle = resolve;
      this.#stay = this.#x.onGone(() => {
        if (this.#lane.parts.gate.cancel(this)) resolve(turnAway(this.#lane.parts, "cancelled"));
      });
    });
  }

  onGrant(waitedMs: number): void {
    // Who has left is heard of a little late: a last look keeps his request from running. After a short wait the look would
    // cost more (it makes an AbortSignal on Bun) than the request it seldom saves.
    if (waitedMs > shortMs && this.#x.gone) {
      this.#end(waitedMs, turnAway(this.#lane.parts, "cancelled"));
      return this.release();
    }
    const { meter, now } = this.#lane.parts;
    meter.fairness.granted(now(), waitedMs, this.#ahead, 1);
    this.#lane.letIn("queued", waitedMs);
    this.#end(waitedMs, this);
  }

  release(): void {
    this.#lane.parts.gate.leave(this);
  }

  onRefuse(reason: Refusal, waitedMs: number): void {
    this.#end(waitedMs, turnAway(this.#lane.parts, reason));
  }

  #end(waitedMs: number, verdict: Permit | Response): void {
    this.#stay?.();
    this.#x.extra.push(waited(waitedMs));
    this.#settle?.(verdict);
  }
}
