import type { Refusal, Waiter } from "../../core/contracts/gates.ts";
import { FairGate } from "../../plugins/admission/fair_gate.ts";
import type { GateOptions } from "../../plugins/admission/gate_options.ts";
import type { Line } from "../../plugins/admission/line.ts";
import { type Linked, NODE } from "../../plugins/admission/queue_node.ts";

/** A gate with one classic mistake in it: what the checkers must be able to find. */
export type GateClass = new (options: GateOptions) => FairGate;

/** A head that leaves the line does not let the next one try (golang/go 37852). */
class CancelWakesNobody extends FairGate {
  #muted = false;

  override cancel(waiter: Waiter): boolean {
    this.#muted = true;
    try {
      return super.cancel(waiter);
    } finally {
      this.#muted = false;
    }
  }

  protected override serve(): void {
    if (!this.#muted) super.serve();
  }
}

/** Who is cancelled between the grant and its callback keeps the permit for ever. */
class CancelSwallowsPermit extends FairGate {
  override cancel(waiter: Waiter): boolean {
    const lost = (waiter as Linked)[NODE]?.state === "granted" ? waiter.weight ?? 1 : 0;
    const left = super.cancel(waiter);
    if (left) this.inUse += lost;
    return left;
  }
}

/** The permit of who is cancelled between the grant and its callback lies free while others wait. */
class CancelOfGrantedWakesNobody extends FairGate {
  #muted = false;

  override cancel(waiter: Waiter): boolean {
    this.#muted = (waiter as Linked)[NODE]?.state === "granted";
    const left = super.cancel(waiter);
    this.#muted = false;
    return left;
  }

  protected override serve(): void {
    if (!this.#muted) super.serve();
  }
}

/** One release wakes one waiter, however much came back. */
class WakesOne extends FairGate {
  #granted = 0;

  protected override serve(): void {
    this.#granted = 0;
    super.serve();
  }

  protected override grantNext(now: number): boolean {
    return this.#granted++ === 0 && super.grantNext(now);
  }
}

/** A newcomer takes what is free, line or no line. */
class LetsNewcomersPass extends FairGate {
  override tryEnter(weight = 1): boolean {
    if (this.shut || this.inUse + weight > this.max) return super.tryEnter(weight);
    this.inUse += weight;
    return true;
  }
}

/** A light waiter passes a heavy one that does not fit. */
class ServesLightFirst extends FairGate {
  protected override serve(): void {
    const head = this.line.head;
    if (head === undefined || this.fits(head)) return super.serve();
    for (const node of this.line) {
      if (!this.fits(node)) continue;
      this.line.remove(head);
      super.serve();
      if (head.state === "queued") this.line.push(head);
      return;
    }
  }
}

/** Growth is noticed at the next release only. */
class ResizeWakesNobody extends FairGate {
  #muted = false;

  override resize(limit: number): void {
    this.#muted = true;
    super.resize(limit);
    this.#muted = false;
  }

  protected override serve(): void {
    if (!this.#muted) super.serve();
  }
}

/** A drain forgets the last in line. */
class DrainForgetsOne extends FairGate {
  override close(): void {
    const last = (this.line as Line).tail;
    if (last !== undefined) this.cancel(last.waiter!);
    super.close();
  }
}

/** The bound is checked against the line without the one who comes. */
class QueuesOneTooMany extends FairGate {
  override enter(waiter: Waiter): "granted" | "queued" | Refusal {
    const self = this as { maxQueue: number };
    self.maxQueue++;
    const verdict = super.enter(waiter);
    self.maxQueue--;
    return verdict;
  }
}

export const seededBugs: Readonly<Record<string, GateClass>> = {
  CancelWakesNobody,
  CancelSwallowsPermit,
  CancelOfGrantedWakesNobody,
  WakesOne,
  LetsNewcomersPass,
  ServesLightFirst,
  ResizeWakesNobody,
  DrainForgetsOne,
  QueuesOneTooMany,
};
