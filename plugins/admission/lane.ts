import type { Refusal, Waiter } from "../../core/contracts/gates.ts";
import type { Counter, Histogram } from "../../core/contracts/meter.ts";
import type { Exchange } from "../../core/exchange.ts";
import type { Awaitable, Permit } from "../../core/plugin.ts";
import type { FairGate } from "./fair_gate.ts";
import { refusal } from "./refusal.ts";

/** A wait (ms) after which listeners have looked for clients that left anyway. */
const shortMs = 50;

/** How an admission can end; the label of `fairlead_admission_total`. */
export type Outcome =
  | "immediate"
  | "queued"
  | "shed_full"
  | "shed_grace"
  | "shed_predicted"
  | "shed_class"
  | "shed_evicted"
  | "shed_codel"
  | "key_cap"
  | "deadline"
  | "cancelled"
  | "drained";

/** Where a lane keeps its numbers: children resolved once. */
export interface LaneMeter {
  readonly wait: Histogram;
  readonly total: Readonly<Record<Outcome, Counter>>;
}

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

/** Exchanges on their way through one gate. All of a lane's exchanges share one permit object: a permit has no state. */
export class Lane {
  readonly gate: FairGate;
  readonly meter: LaneMeter;
  readonly permit: Permit;

  constructor(gate: FairGate, meter: LaneMeter) {
    this.gate = gate;
    this.meter = meter;
    this.permit = { release: () => gate.leave() };
  }

  admit(x: Exchange): Awaitable<Permit | Response> {
    return this.gate.tryEnter() ? this.#letIn() : this.#wait(x);
  }

  #letIn(): Permit {
    this.meter.wait.observe(0);
    this.meter.total.immediate.inc();
    return this.permit;
  }

  #wait(x: Exchange): Awaitable<Permit | Response> {
    const waiting = new Waiting(this, x);
    const verdict = this.gate.enter(waiting);
    if (verdict === "queued") return waiting.begin();
    return verdict === "granted" ? this.#letIn() : this.turnAway(verdict);
  }

  turnAway(reason: Refusal): Response {
    this.meter.total[outcomes[reason]].inc();
    return refusal(reason, () => this.gate.retryAfter());
  }
}

/** One exchange in line. */
class Waiting implements Waiter {
  readonly deadline: number;
  readonly #lane: Lane;
  readonly #x: Exchange;
  #settle: ((verdict: Permit | Response) => void) | undefined = undefined;
  #stay: (() => void) | undefined = undefined;

  constructor(lane: Lane, x: Exchange) {
    this.deadline = x.deadline;
    this.#lane = lane;
    this.#x = x;
  }

  begin(): Promise<Permit | Response> {
    return new Promise((resolve) => {
      this.#settle = resolve;
      this.#stay = this.#x.onGone(() => {
        if (this.#lane.gate.cancel(this)) resolve(this.#lane.turnAway("cancelled"));
      });
    });
  }

  onGrant(waitedMs: number): void {
    // Who has left is heard of a little late: a last look keeps his request from running. After a short wait the look would
    // cost more (it makes an AbortSignal on Bun) than the request it seldom saves.
    if (waitedMs > shortMs && this.#x.gone) {
      this.#end(waitedMs, this.#lane.turnAway("cancelled"));
      return this.#lane.gate.leave();
    }
    this.#lane.meter.wait.observe(waitedMs / 1000);
    this.#lane.meter.total.queued.inc();
    this.#end(waitedMs, this.#lane.permit);
  }

  onRefuse(reason: Refusal, waitedMs: number): void {
    this.#end(waitedMs, this.#lane.turnAway(reason));
  }

  #end(waitedMs: number, verdict: Permit | Response): void {
    this.#stay?.();
    this.#x.extra.push(["server-timing", `adm;dur=${waitedMs.toFixed(1)}`]);
    this.#settle?.(verdict);
  }
}
