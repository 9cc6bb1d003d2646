import { CoreError } from "../../core/error.ts";
import type { Refusal, Waiter } from "../../core/contracts/gates.ts";
import { throwLater, whole } from "./checks.ts";
import { type Clock, systemClock } from "../../core/clock.ts";
import { type Tally, tally } from "./counts.ts";
import { Deadlines } from "./deadlines.ts";
import { DrainRate } from "./drain_rate.ts";
import { Forecast } from "./forecast.ts";
import type { LineOptions } from "./gate_options.ts";
import type { WaitingLine } from "./line.ts";
import { NodePool } from "./node_pool.ts";
import { Outbox } from "./outbox.ts";
import { type Linked, NODE, type Node } from "./queue_node.ts";

/**
 * How permits and places in line change hands: what all gates have in common, and those that differ change.
 * {@linkcode FairGate} is what callers see of it.
 *
 * How often a call reads the clock does not depend on how many it is about: reading it is half of what a wait costs.
 */
export abstract class GateCore {
  readonly name: string;
  readonly maxQueue: number;
  readonly grace: number;
  protected readonly clock: Clock;
  protected readonly line: WaitingLine;
  protected readonly tally: Tally = tally();
  protected readonly outbox: Outbox;
  protected readonly nodes: NodePool = new NodePool(this);
  protected readonly rate: DrainRate = new DrainRate();
  protected readonly deadlines: Deadlines;
  protected max: number;
  protected inUse = 0;
  protected shut = false;
  readonly #forecast: Forecast | undefined;
  readonly #onOvertake: (() => void) | undefined;
  readonly #onRefused: ((reason: Refusal) => void) | undefined;
  readonly #drained: (() => void)[] = [];
  #seq = 0;

  /** `sorted`: whoever came first has waited longest. */
  constructor(options: LineOptions, line: WaitingLine, sorted: boolean) {
    this.name = options.name ?? "gate";
    this.max = whole("limit", options.limit);
    this.maxQueue = options.maxQueue ?? Infinity;
    this.grace = options.grace ?? Infinity;
    this.clock = options.clock ?? systemClock;
    this.line = line;
    const { predict = false } = options;
    if (predict !== false) this.#forecast = new Forecast(this.grace, predict === true);
    this.#onOvertake = options.onOvertake;
    this.#onRefused = options.onRefused;
    this.outbox = new Outbox(this.tally, this.nodes, options.onError ?? throwLater, options.onRefused);
    this.deadlines = new Deadlines(line, this.grace, sorted, this.clock, () => this.#expire());
  }

  /** Hands permits to the head of the line for as long as they suffice. `now`, when the clock was read already. */
  protected serve(now?: number): void {
    const head = this.line.head;
    if (head === undefined || !this.fits(head)) return;
    const at = now ?? this.clock.now();
    while (this.grantNext(at));
    this.deliver();
  }

  /** Grants the head of the line, if it fits; true when it left the line. */
  protected grantNext(now: number): boolean {
    const node = this.line.head;
    if (node === undefined || !this.fits(node)) return false;
    if (node.expires <= now) {
      this.decide(node, this.deadlines.reason(node), now);
      return true;
    }
    this.charge(node, now);
    node.since = now;
    this.decide(node, "granted", now);
    this.inUse += node.weight;
    const rival = this.line.rival(node);
    if (rival !== undefined && rival.seq < node.seq) this.overtaken();
    return true;
  }

  protected fits(node: Node): boolean {
    return this.inUse + node.weight <= this.max;
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

  /** The permits a newcomer wants. */
  protected arrive(waiter: Waiter): number {
    if ((waiter as Linked)[NODE] !== undefined) {
      throw new CoreError("ADMISSION_REUSED", `Cannot wait at gate ${this.name} twice with one waiter; use a new one`);
    }
    const weight = waiter.weight ?? 1;
    if (weight !== 1) this.check(weight);
    return weight;
  }

  /** The time, if a newcomer has a deadline to compare it with, and 0 when it need not be known yet. */
  protected timeFor(deadline: number): number {
    return deadline === Infinity ? 0 : this.clock.now();
  }

  /** Why a newcomer has no business here any more. */
  protected tooLate(deadline: number, now: number): "draining" | "deadline" | undefined {
    if (this.shut) return "draining";
    return deadline <= now ? "deadline" : undefined;
  }

  /** Why a newcomer who has to wait would wait in vain. */
  protected hopeless(waiter: Waiter, weight: number, deadline: number, now: number): "grace" | "predicted" | undefined {
    if (this.grace <= 0) return "grace";
    const forecast = this.#forecast;
    if (forecast === undefined || this.line.head === undefined) return undefined;
    return forecast.tooMany(this.line.ahead(waiter, weight), this.max, deadline - now, now) ? "predicted" : undefined;
  }

  /** Permits that come back per ms while somebody waits. */
  protected perMs(now: number): number {
    if (this.line.head !== undefined) this.rate.settle(now);
    return this.rate.perMs;
  }

  protected refuse(reason: Exclude<Refusal, "cancelled">): Refusal {
    this.tally.refused[reason]++;
    this.#onRefused?.(reason);
    return reason;
  }

  /** Puts down that `waiter` has its permits without having waited. */
  protected hold(waiter: Waiter, weight: number): Node {
    const node = this.nodes.take(waiter);
    node.state = "held";
    node.weight = weight;
    node.since = 0;
    return node;
  }

  /** A node with which `waiter` can be parked. */
  protected queue(waiter: Waiter, weight: number, deadline: number): Node {
    const node = this.nodes.take(waiter);
    node.state = "queued";
    node.weight = weight;
    node.deadline = deadline;
    return node;
  }

  protected park(node: Node, now: number): void {
    node.seq = this.#seq++;
    node.entered = now;
    const stood = this.line.head !== undefined;
    this.line.push(node);
    if (!stood && this.line.head !== undefined) this.stands(now);
    this.deadlines.watch(node, now);
  }

  /** There is a head of the line where there was none. */
  protected stands(now: number): void {
    this.rate.resume(now);
    this.#forecast?.begins(now);
  }

  /** Takes the waiter out of the line; its callback runs at the next delivery. */
  protected decide(node: Node, outcome: "granted" | Refusal, now: number): void {
    this.unlink(node, now);
    if (outcome === "grace") this.#forecast?.inVain(now);
    node.state = outcome;
    node.entered = now - node.entered;
    this.outbox.post(node);
  }

  protected unlink(node: Node, now: number): void {
    const stood = this.line.head !== undefined;
    this.line.remove(node);
    this.deadlines.forget(node);
    if (!stood || this.line.head !== undefined) return;
    this.rate.settle(now);
    this.#forecast?.ends(now);
  }

  /** The permits of `node` are back, `ran`: it was told that it had them. Somebody may be next who was not before. */
  protected settle(_node: Node, _ran: boolean): void {}

  /** The permits of `node` are back, `ran`: it was told that it had them. Then the node is spare, unless the outbox still has it. */
  protected comeBack(node: Node, ran: boolean): void {
    const { weight, since } = node;
    this.#countBack(weight);
    this.settle(node, ran);
    if (ran) this.nodes.give(node);
    if (this.line.head === undefined) return this.#emptied();
    const now = this.clock.now();
    if (ran && since > 0) this.#forecast?.held(now - since, weight);
    this.serve(now);
  }

  /** So many permits are back, nobody knows whose. */
  protected takeBack(weight: number): void {
    this.#countBack(weight);
    if (this.line.head === undefined) this.#emptied();
    else this.serve(this.clock.now());
  }

  #countBack(weight: number): void {
    this.inUse -= weight;
    if (this.line.head === undefined) return;
    this.rate.count(weight);
    this.#forecast?.returned(weight);
  }

  #emptied(): void {
    if (!this.shut || this.inUse > 0) return;
    for (const resolve of this.#drained.splice(0)) resolve();
  }

  /** Resolves when no permit is out. */
  protected emptied(): Promise<void> {
    return this.inUse === 0 ? Promise.resolve() : new Promise((resolve) => this.#drained.push(resolve));
  }

  protected check(weight: number): void {
    if (whole("weight", weight) > this.max) {
      throw new CoreError(
        "ADMISSION_WEIGHT",
        `Cannot wait for ${weight} permits at gate ${this.name}: it has ${this.max}; ask for fewer or raise the limit`,
      );
    }
  }

  /** Refuses all whose time has passed, and sets the alarm for the next. */
  #expire(): void {
    const now = this.clock.now();
    for (let node = this.deadlines.due(now); node !== undefined; node = this.deadlines.due(now)) {
      this.decide(node, this.deadlines.reason(node), now);
    }
    this.serve(now);
    this.deliver();
    this.deadlines.rearm(this.clock.now());
  }
}
