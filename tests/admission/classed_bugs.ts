import type { Waiter } from "../../core/contracts/gates.ts";
import { ClassedGate } from "../../plugins/admission/classed_gate.ts";
import type { GateOptions } from "../../plugins/admission/gate_options.ts";
import { type Linked, NODE, type Node } from "../../plugins/admission/queue_node.ts";
import type { GateClass } from "./seeded_bugs.ts";

/** The oldest of the lowest class gives its place, not the newest. */
class EvictsOldest extends ClassedGate {
  constructor(options: GateOptions) {
    super(options);
    this.line.lowest = (place) => this.line.classes.findLast((each) => each.place > place && each.size > 0)?.oldest;
  }
}

/** The highest of the classes below gives its place, not the lowest. */
class EvictsHighest extends ClassedGate {
  constructor(options: GateOptions) {
    super(options);
    this.line.lowest = (place) => this.line.classes.find((each) => each.place > place && each.size > 0)?.latest;
  }
}

/** A heavy head that is evicted does not let the next one try. */
class EvictionWakesNobody extends ClassedGate {
  #entering = false;

  override enter(waiter: Waiter): ReturnType<ClassedGate["enter"]> {
    this.#entering = true;
    const verdict = super.enter(waiter);
    this.#entering = false;
    return verdict;
  }

  protected override grantNext(now: number): boolean {
    return !this.#entering && super.grantNext(now);
  }
}

/** What a key held is never given back to it. */
class KeyKeepsPermits extends ClassedGate {
  protected override settle(): void {}
}

/** Permits count for their key when the line is next looked at. */
class KeyCountedLate extends ClassedGate {
  constructor(options: GateOptions) {
    super(options);
    const charge = this.line.charge.bind(this.line);
    this.line.charge = (node) => {
      const { account } = node.line!;
      charge(node);
      account.used -= node.weight;
    };
  }
}

/** Who is cancelled between the grant and its callback keeps the permits of its key. */
class CancelOfGrantedKeepsKey extends ClassedGate {
  protected override settle(node: Node, ran: boolean): void {
    if (ran) super.settle(node, ran);
  }
}

/** A key below its cap again is not looked at. */
class ReturnOfKeyWakesNobody extends ClassedGate {
  protected override settle(node: Node, ran: boolean): void {
    const { classes } = this.line;
    const enables = classes.map(({ ring }) => ring.enable);
    for (const { ring } of classes) ring.enable = () => {};
    super.settle(node, ran);
    classes.forEach(({ ring }, place) => ring.enable = enables[place]!);
  }
}

/** Who waits counts against the cap too, also where waiting is allowed. */
class CapCountsTheWaiting extends ClassedGate {
  constructor(options: GateOptions) {
    super(options);
    const above = this.line.above.bind(this.line);
    this.line.above = (account, weight) => above(account, weight + (account?.wanted ?? 0));
  }
}

/** The newest of a key goes first where the oldest should. */
class NewestFirst extends ClassedGate {
  constructor(options: GateOptions) {
    super(options);
    for (const each of this.line.classes) each.newest = true;
  }
}

/** Permits given back twice come back twice. */
class ReturnedTwice extends ClassedGate {
  override leave(held: number | Waiter = 1): void {
    super.leave(held);
    if (typeof held === "number" || this.used === 0) return;
    const node = this.hold(held, (held as Linked)[NODE]!.weight);
    node.line = undefined;
  }
}

/** A newcomer takes a free permit though an older one of its key waits for its own. */
class NewcomerPassesOwnKey extends ClassedGate {
  constructor(options: GateOptions) {
    super(options);
    const above = this.line.above.bind(this.line);
    this.line.above = (account, weight) => above(account, Math.max(weight - (account?.wanted ?? 0), 1));
  }
}

/** The record of a key outlives its last permit. */
class RecordsAreKept extends ClassedGate {
  constructor(options: GateOptions) {
    super(options);
    this.line.accounts.tidy = () => {};
  }
}

export const classedBugs: Readonly<Record<string, GateClass>> = {
  EvictsOldest,
  EvictsHighest,
  EvictionWakesNobody,
  KeyKeepsPermits,
  KeyCountedLate,
  CancelOfGrantedKeepsKey,
  ReturnOfKeyWakesNobody,
  CapCountsTheWaiting,
  NewestFirst,
  ReturnedTwice,
  NewcomerPassesOwnKey,
  RecordsAreKept,
};
