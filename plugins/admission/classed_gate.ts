import { CoreError } from "../../core/error.ts";
import type { Criticality, Refusal, Waiter } from "../../core/contracts/gates.ts";
import { whole } from "./checks.ts";
import type { Account } from "./account.ts";
import type { ClassLine } from "./class_line.ts";
import { ClassedLine } from "./classed_line.ts";
import { classes, placeOf } from "./classes.ts";
import { Codel } from "./codel.ts";
import { FairGate } from "./fair_gate.ts";
import type { GateOptions } from "./gate_options.ts";
import type { Node } from "./queue_node.ts";
import { Threshold } from "./threshold.ts";

/** Shares of the classes when nothing else is said. */
const usualShares: Readonly<Record<Criticality, number>> = {
  critical_plus: 8,
  critical: 4,
  sheddable_plus: 2,
  sheddable: 1,
};

/**
 * A {@linkcode FairGate} whose line knows classes, keys, CoDel and other orders; see {@linkcode GateOptions} for each and
 * {@linkcode ClassedLine} for who is next. Newcomers are turned away by the first of these that holds: the gate drains, the
 * deadline has passed, the class is below the threshold (`class`), the key has its share (`key`), no waiting is allowed
 * (`grace`), the deadline would pass in line (`predicted`), the line is full of waiters no less critical (`full`). In a full
 * line a newcomer takes the place of the lowest class's newest (`evicted`), or of one of its own class whose key has filled
 * the line (`key`).
 *
 * What always holds of a fair gate holds here: the line has no head, or the permits left are too few for it. It has none
 * while all who wait do so for permits of their own keys; then others may pass them.
 */
export class ClassedGate extends FairGate {
  declare protected readonly line: ClassedLine;
  /** Whether a free permit can be had without a look at the key. */
  readonly #simple: boolean;
  readonly #classed: boolean;
  readonly #keyLimit: number;
  readonly #keyQueue: number;
  readonly #order: "fifo" | "lifo" | "adaptive_lifo";
  readonly #codel: readonly Codel[] | undefined;
  readonly #threshold: Threshold | undefined;
  /** By place: the classes `order` is for. */
  readonly #newest: readonly boolean[];

  /** Throws like `createGate`, which is the way to make one. */
  constructor(options: GateOptions) {
    const { shares, keyLimit = 0, keyQueue = 0, maxKeys = 10_000, order = "fifo" } = options;
    super(
      options,
      new ClassedLine({
        shares: shares && classes.map((name) => positive(`share of ${name}`, shares[name] ?? usualShares[name])),
        keys: options.keys === true || keyLimit > 0 || keyQueue > 0,
        keyLimit: cap("key limit", keyLimit),
        fair: options.fair ?? "count",
        maxKeys: whole("most keys", maxKeys),
        keyWeight: options.keyWeight,
      }),
    );
    if (order !== "fifo" && this.grace === Infinity) {
      throw new CoreError(
        "ADMISSION_ORDER",
        `Cannot serve the newest first at gate ${this.name} without a grace window: old waiters would be left for ever`,
      );
    }
    this.#simple = !this.line.capped && !this.line.timed;
    this.#classed = shares !== undefined;
    this.#keyLimit = cap("key limit", keyLimit);
    this.#keyQueue = cap("waiters of a key", keyQueue);
    this.#order = order;
    const newest = options.newestFirst ?? ["sheddable_plus", "sheddable"];
    this.#newest = classes.map((name) => order !== "fifo" && newest.includes(name));
    if (order === "lifo") this.#newest.forEach((is, place) => this.line.classes[place]!.newest = is);
    if (options.codel || order === "adaptive_lifo") this.#codel = classes.map(() => new Codel(this.grace));
    if (options.threshold) this.#threshold = new Threshold(this.grace);
    this.#sheds = options.codel ?? false;
  }

  /** Whether CoDel refuses, not only measures. */
  readonly #sheds: boolean;

  override queuedOf(criticality: Criticality): number {
    return this.line.classes[placeOf(criticality)]!.size;
  }

  override get keys(): number {
    return this.line.accounts.size;
  }

  override get overloaded(): boolean {
    const now = this.clock.now();
    return this.#threshold !== undefined && this.#threshold.level(now) > 0 ||
      this.#codel !== undefined && this.#codel.some((codel) => codel.stood > 0 && codel.recent(now));
  }

  override enter(waiter: Waiter): "granted" | "queued" | Refusal {
    const weight = this.arrive(waiter);
    const line = this.line;
    const { deadline = Infinity } = waiter;
    const arrived = this.timeFor(deadline);
    const late = this.tooLate(deadline, arrived);
    if (late !== undefined) return this.refuse(late);
    const place = line.placeOf(waiter);
    if (this.#cut(place)) return this.refuse("class");
    if (this.#simple && this.tryEnter(weight)) {
      // Nothing is put down of its class and key, so nothing is when it leaves.
      this.hold(waiter, weight);
      return this.#pass(place);
    }
    const account = line.accountOf(waiter);
    const above = line.above(account, weight + (account?.wanted ?? 0));
    if (above && (this.#keyQueue === Infinity || weight > this.#keyLimit)) return this.refuse("key");
    if (!above && !this.#simple && this.tryEnter(weight)) return this.#claim(waiter, weight, account, place);
    if (account !== undefined && account.capped && account.queued >= this.#keyQueue) return this.refuse("key");
    const now = arrived || this.clock.now();
    const never = this.hopeless(waiter, weight, deadline, now);
    if (never !== undefined) return this.refuse(never);
    const full = line.size >= this.maxQueue;
    const lower = full ? line.lowest(place) : undefined;
    const victim = full ? lower ?? line.classes[place]!.crowding((account?.queued ?? 0) + 1) : undefined;
    if (victim !== undefined) this.decide(victim, lower === undefined ? "key" : "evicted", now);
    else if (full) return this.refuse("full");
    const node = this.queue(waiter, weight, deadline);
    // Who has just left the line may have been the last of the newcomer's key.
    line.assign(node, victim === undefined ? account : line.accountOf(waiter), place);
    const head = line.head;
    this.park(node, now);
    if (victim === undefined && line.head === head) return "queued";
    while (this.grantNext(now));
    return this.outbox.deliverFor(node);
  }

  protected override grantNext(now: number): boolean {
    const node = this.line.head;
    if (this.#codel === undefined || node === undefined || !this.fits(node) || node.expires <= now) {
      return super.grantNext(now);
    }
    const queue = this.line.classes[node.line!.place]!;
    const codel = this.#codel[queue.place]!;
    if (this.#newest[queue.place] && this.#turn(queue, codel, now)) return true;
    const tooLong = codel.judge(now - node.entered, now, codel.closes(now) ? this.perMs(now) : 0);
    // Refusing the last in line would leave the permits idle.
    if (!tooLong || !this.#sheds || this.line.size === 1) return super.grantNext(now);
    this.decide(node, "codel", now);
    return true;
  }

  protected override charge(node: Node, now: number): void {
    const threshold = this.#threshold;
    if (threshold !== undefined) {
      threshold.observe(now - node.entered, now, threshold.closes(now) ? this.perMs(now) : 0);
    }
    this.line.charge(node);
  }

  protected override get unbound(): number {
    return this.inUse - this.line.bound;
  }

  protected override settle(node: Node, ran: boolean): void {
    const stood = this.line.head !== undefined;
    this.line.release(node, this.line.timed ? this.clock.now() : 0, ran);
    if (!stood && this.line.head !== undefined) this.stands(this.clock.now());
  }

  /** Whether the class at `place` is turned away while the gate is overloaded. */
  #cut(place: number): boolean {
    const threshold = this.#threshold;
    if (threshold === undefined || !this.#classed || !threshold.active) return false;
    return place >= classes.length - threshold.level(this.clock.now());
  }

  /**
   * Has `queue` served newest first, or no more, as `order` has it, and refuses who has waited for a whole interval in a class
   * that is, so that those at the far end are answered. True when something has changed.
   */
  #turn(queue: ClassLine, codel: Codel, now: number): boolean {
    const newest = this.#order === "lifo" || now - queue.since > codel.interval;
    if (newest !== queue.newest) {
      this.line.reorder(queue, newest);
      return true;
    }
    const oldest = queue.oldest!;
    if (!newest || queue.size === 1 || now - oldest.entered <= codel.interval) return false;
    this.decide(oldest, "codel", now);
    return true;
  }

  #claim(waiter: Waiter, weight: number, account: Account | undefined, place: number): "granted" {
    const node = this.hold(waiter, weight);
    this.line.assign(node, account, place);
    this.line.claim(node, this.line.timed ? this.clock.now() : 0);
    return this.#pass(place);
  }

  #pass(place: number): "granted" {
    this.#codel?.[place]?.passed();
    this.#threshold?.passed();
    return "granted";
  }
}

function positive(what: string, value: number): number {
  if (value > 0 && value < Infinity) return value;
  throw new CoreError("ADMISSION_NUMBER", `Expected ${what} to be above 0, got ${value}`);
}

/** `value`, where 0 means none. */
function cap(what: string, value: number): number {
  return value === 0 ? Infinity : whole(what, value);
}
