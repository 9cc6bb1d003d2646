import { CoreError } from "../../core/error.ts";
import type { Criticality, Gate, Refusal, Waiter } from "../../core/contracts/gates.ts";
import { acquire, type AcquireOptions, GatePermit } from "./acquire.ts";
import { throwLater, whole } from "./checks.ts";
import { type Clock, systemClock } from "../../core/clock.ts";
import { type Counts, type Tally, tally } from "./counts.ts";
import { Deadlines } from "./deadlines.ts";
import { DrainRate, secondsToDrain } from "./drain_rate.ts";
import type { LineOptions } from "./gate_options.ts";
import { Line, type WaitingLine } from "./line.ts";
import { Outbox } from "./outbox.ts";
import { ENTERED, EXPIRES, type Node, OWNER, SEQ, STATE, WEIGHT } from "./queue_node.ts";

/** Of the time a waiter has left, how much a foretold wait must exceed for it to be refused: its place in line costs little. */
const doubt = 1.25;

/**
 * A gate with one line in strict order of arrival. A permit that comes back is handed to the oldest waiter before anyone
 * else can ask for it, and a heavy waiter at the head holds the lighter ones behind it, so nobody starves.
 *
 * After every call this holds, inside callbacks too: the line is empty, or the permits left are too few for its head.
 *
 * @example
 * ```ts
 * const gate = new FairGate({ limit: 4, grace: 10_000 });
 * using permit = await gate.acquire({ signal });
 * ```
 */
export class FairGate implements Gate {
  readonly name: string;
  readonly maxQueue: number;
  readonly grace: number;
  protected readonly clock: Clock;
  protected readonly line: WaitingLine;
  protected readonly tally: Tally = tally();
  protected readonly outbox: Outbox;
  protected readonly rate: DrainRate = new DrainRate();
  protected max: number;
  protected inUse = 0;
  protected shut = false;
  readonly #predict: boolean;
  readonly #deadlines: Deadlines;
  readonly #random: () => number;
  readonly #onOvertake: (() => void) | undefined;
  readonly #drained: (() => void)[] = [];
  #seq = 0;

  /** `sorted`: whoever came first has waited longest. */
  constructor(options: LineOptions, line: WaitingLine = new Line(), sorted = true) {
    this.name = options.name ?? "gate";
    this.max = whole("limit", options.limit);
    this.maxQueue = options.maxQueue ?? Infinity;
    this.grace = options.grace ?? Infinity;
    this.clock = options.clock ?? systemClock;
    this.line = line;
    this.#predict = options.predict ?? false;
    this.#random = options.random ?? Math.random;
    this.#onOvertake = options.onOvertake;
    this.outbox = new Outbox(this.tally, options.onError ?? throwLater);
    this.#deadlines = new Deadlines(line, this.grace, sorted, this.clock, () => this.#expire());
  }

  get limit(): number {
    return this.max;
  }

  get used(): number {
    return this.inUse;
  }

  get queued(): number {
    return this.line.size;
  }

  /** Permits wanted by all who wait. */
  get queuedWeight(): number {
    return this.line.weight;
  }

  get counts(): Counts {
    return this.tally;
  }

  /** How long the one who has waited longest has, in ms; 0 when nobody waits. */
  get oldestWait(): number {
    const oldest = this.line.oldest;
    return oldest === undefined ? 0 : this.clock.now() - oldest[ENTERED]!;
  }

  /** Who has the next permits, unless something changes; undefined when nobody waits for permits of the gate. */
  get next(): Waiter | undefined {
    return this.line.head;
  }

  /** Waiters of one class. Where classes are not told apart, all are `critical`. */
  queuedOf(criticality: Criticality): number {
    return criticality === "critical" ? this.line.size : 0;
  }

  /** Keys that wait, hold permits or owe some. */
  get keys(): number {
    return 0;
  }

  /** Whether the line has stood for so long that the gate sheds, as far as it was told to. */
  get overloaded(): boolean {
    return false;
  }

  tryEnter(weight = 1): boolean {
    if (weight !== 1) this.#check(weight);
    if (this.line.head !== undefined || this.inUse + weight > this.max || this.shut) return false;
    this.inUse += weight;
    this.tally.immediate++;
    return true;
  }

  enter(waiter: Waiter): "granted" | "queued" | Refusal {
    const node: Node = waiter;
    const weight = this.arrive(node);
    const late = this.tooLate(node);
    if (late !== undefined) return this.refuse(late);
    if (this.tryEnter(weight)) return this.hold(node, weight);
    if (this.line.size >= this.maxQueue) return this.refuse("full");
    const never = this.hopeless(node, weight);
    if (never !== undefined) return this.refuse(never);
    this.park(node, weight);
    return "queued";
  }

  cancel(waiter: Waiter): boolean {
    const node: Node = waiter;
    const state = node[STATE];
    if (node[OWNER] !== this || state === "done" || state === "held") return false;
    const head = this.line.head;
    if (state === "queued") this.#unlink(node, this.clock.now());
    node[STATE] = "done";
    this.tally.cancelled++;
    if (state === "granted") this.#takeBack(node[WEIGHT]!, node, false);
    else if (this.line.head !== head) this.serve();
    return true;
  }

  /**
   * Gives permits back: a number of them, or those of a waiter that was let in. The second way a permit is bound to what
   * runs under it: given back twice, it comes back once, and a gate with keys knows whose it was and how long it was out.
   * Permits of a waiter with a key must come back that way.
   *
   * @throws CoreError `ADMISSION_LEAVE` for more permits than are out.
   */
  leave(held: number | Waiter = 1): void {
    if (typeof held !== "number") return this.#leaves(held);
    if (held !== 1) whole("weight", held);
    if (held > this.unbound) {
      throw new CoreError(
        "ADMISSION_LEAVE",
        `Cannot give back ${held} permits at gate ${this.name}: ${this.unbound} are out that belong to no waiter with a key`,
      );
    }
    this.#takeBack(held, undefined, true);
  }

  /** As in {@linkcode Gate}. Waiters that want more than the new limit are refused as `full`: they could wait for ever. */
  resize(limit: number): void {
    const before = this.max;
    this.max = whole("limit", limit);
    this.rate.scale(limit / before);
    if (limit < before && this.line.weight > this.line.size) {
      const now = this.clock.now();
      for (const node of this.line) if (node[WEIGHT]! > limit) this.decide(node, "full", now);
    }
    this.serve();
    this.deliver();
  }

  retryAfter(): number {
    return secondsToDrain(this.line.weight + 1, this.perMs(this.clock.now()), this.#random());
  }

  /** Refuses all who wait, in their order, and all who come; resolves when no permit is out. There is no way back. */
  drain(): Promise<void> {
    this.close();
    return this.inUse === 0 ? Promise.resolve() : new Promise((resolve) => this.#drained.push(resolve));
  }

  /** Like {@linkcode FairGate.drain} without waiting. Permits that are out may still be given back. */
  close(): void {
    this.shut = true;
    this.#deadlines.off();
    if (this.line.size === 0) return;
    const now = this.clock.now();
    for (const node of this.line) this.decide(node, "draining", now);
    this.deliver();
  }

  /** Takes a permit now, or returns undefined. Give it back with `release`, or let `using` do it. */
  tryAcquire(weight = 1): GatePermit | undefined {
    return this.tryEnter(weight) ? new GatePermit(this, weight) : undefined;
  }

  /** Waits in line for a permit; see {@linkcode acquire}. */
  acquire(options: AcquireOptions = {}): Promise<GatePermit> {
    return acquire(this, options);
  }

  /** Hands permits to the head of the line for as long as they suffice. */
  protected serve(): void {
    const head = this.line.head;
    if (head === undefined || !this.fits(head)) return;
    const now = this.clock.now();
    while (this.grantNext(now));
    this.deliver();
  }

  /** Grants the head of the line, if it fits; true when it left the line. */
  protected grantNext(now: number): boolean {
    const node = this.line.head;
    if (node === undefined || !this.fits(node)) return false;
    if (node[EXPIRES]! <= now) {
      this.decide(node, this.#deadlines.reason(node), now);
      return true;
    }
    this.charge(node, now);
    this.decide(node, "granted", now);
    this.inUse += node[WEIGHT]!;
    const rival = this.line.rival(node);
    if (rival !== undefined && rival[SEQ]! < node[SEQ]!) this.overtaken();
    return true;
  }

  protected fits(node: Node): boolean {
    return this.inUse + node[WEIGHT]! <= this.max;
  }

  /** `node`, still in line, is about to get its permits. */
  protected charge(_node: Node, _now: number): void {}

  protected overtaken(): void {
    this.tally.overtakes++;
    this.#onOvertake?.();
  }

  /** Runs the callbacks of all who have been decided on. */
  protected deliver(): void {
    this.outbox.deliver();
  }

  /** Permits out that may be given back by their number. */
  protected get unbound(): number {
    return this.inUse;
  }

  /** The permits a newcomer wants. */
  protected arrive(node: Node): number {
    if (node[STATE] !== undefined) {
      throw new CoreError("ADMISSION_REUSED", `Cannot wait at gate ${this.name} twice with one waiter; use a new one`);
    }
    const weight = node.weight ?? 1;
    if (weight !== 1) this.#check(weight);
    return weight;
  }

  /** Why a newcomer has no business here any more. */
  protected tooLate(node: Node): "draining" | "deadline" | undefined {
    if (this.shut) return "draining";
    return node.deadline !== undefined && node.deadline <= this.clock.now() ? "deadline" : undefined;
  }

  /** Why a newcomer who has to wait would wait in vain. */
  protected hopeless(node: Node, weight: number): "grace" | "predicted" | undefined {
    if (this.grace <= 0) return "grace";
    if (!this.#predict || node.deadline === undefined || node.deadline === Infinity) return undefined;
    const now = this.clock.now();
    const perMs = this.perMs(now);
    if (!this.rate.measured) return undefined;
    return this.line.ahead(node, weight) / perMs > (node.deadline - now) * doubt ? "predicted" : undefined;
  }

  /** Permits that come back per ms while somebody waits. */
  protected perMs(now: number): number {
    if (this.line.head !== undefined) this.rate.settle(now);
    return this.rate.perMs;
  }

  protected refuse(reason: Exclude<Refusal, "cancelled">): Refusal {
    this.tally.refused[reason]++;
    return reason;
  }

  /** Puts down that `node` has its permits without having waited. */
  protected hold(node: Node, weight: number): "granted" {
    node[OWNER] = this;
    node[STATE] = "held";
    node[WEIGHT] = weight;
    return "granted";
  }

  protected park(node: Node, weight: number): void {
    const now = this.clock.now();
    node[OWNER] = this;
    node[STATE] = "queued";
    node[SEQ] = this.#seq++;
    node[WEIGHT] = weight;
    node[ENTERED] = now;
    const stood = this.line.head !== undefined;
    this.line.push(node);
    if (!stood && this.line.head !== undefined) this.rate.resume(now);
    this.#deadlines.watch(node, now);
  }

  /** Takes the waiter out of the line; its callback runs at the next delivery. */
  protected decide(node: Node, outcome: "granted" | Refusal, now: number): void {
    this.#unlink(node, now);
    node[STATE] = outcome;
    node[ENTERED] = now - node[ENTERED]!;
    this.outbox.post(node);
  }

  /** The permits of `node` are back, `ran`: it was told that it had them. Somebody may be next who was not before. */
  protected settle(_node: Node, _ran: boolean): void {}

  #leaves(node: Node): void {
    if (node[OWNER] !== this || node[STATE] !== "held") return;
    node[STATE] = "done";
    this.#takeBack(node[WEIGHT]!, node, true);
  }

  #takeBack(weight: number, node: Node | undefined, ran: boolean): void {
    this.inUse -= weight;
    if (this.line.head !== undefined) this.rate.count(weight);
    if (node !== undefined) this.settle(node, ran);
    if (this.line.head !== undefined) this.serve();
    else if (this.shut && this.inUse === 0) { for (const resolve of this.#drained.splice(0)) resolve(); }
  }

  #check(weight: number): void {
    if (whole("weight", weight) > this.max) {
      throw new CoreError(
        "ADMISSION_WEIGHT",
        `Cannot wait for ${weight} permits at gate ${this.name}: it has ${this.max}; ask for fewer or raise the limit`,
      );
    }
  }

  #unlink(node: Node, now: number): void {
    const stood = this.line.head !== undefined;
    this.line.remove(node);
    this.#deadlines.forget(node);
    if (stood && this.line.head === undefined) this.rate.settle(now);
  }

  /** Refuses all whose time has passed, and sets the alarm for the next. */
  #expire(): void {
    const now = this.clock.now();
    for (let node = this.#deadlines.due(now); node !== undefined; node = this.#deadlines.due(now)) {
      this.decide(node, this.#deadlines.reason(node), now);
    }
    this.serve();
    this.deliver();
    this.#deadlines.rearm(this.clock.now());
  }
}
