import { CoreError } from "../../core/error.ts";
import type { Refusal } from "../../core/contracts/gates.ts";
import { throwLater, whole } from "./checks.ts";
import { type Clock, systemClock } from "../../core/clock.ts";
import { type Tally, tally } from "./counts.ts";
import { Deadlines } from "./deadlines.ts";
import { DrainRate } from "./drain_rate.ts";
import { Forecast } from "./forecast.ts";
import type { LineOptions } from "./gate_options.ts";
import type { WaitingLine } from "./line.ts";
import { Outbox } from "./outbox.ts";
import { ENTERED, EXPIRES, type Node, OWNER, SEQ, SINCE, STATE, WEIGHT } from "./queue_node.ts";

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
    this.outbox = new Outbox(this.tally, options.onError ?? throwLater, options.onRefused);
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
    if (node[EXPIRES]! <= now) {
      this.decide(node, this.deadlines.reason(node), now);
      return true;
    }
    this.charge(node, now);
    node[SINCE] = now;
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

  /** The permits a newcomer wants. */
  protected arrive(node: Node): number {
    if (node[STATE] !== undefined) {
      throw new CoreError("ADMISSION_REUSED", `Cannot wait at gate ${this.name} twice with one waiter; use a new one`);
    }
    const weight = node.weight ?? 1;
    if (weight !== 1) this.check(weight);
    return weight;
  }

  /** The time, if a newcomer has a deadline to compare it with, and 0 when it need not be known yet. */
  protected timeFor(node: Node): number {
    return node.deadline === undefined ? 0 : this.clock.now();
  }

  /** Why a newcomer has no business here any more. */
  protected tooLate(node: Node, now: number): "draining" | "deadline" | undefined {
    if (this.shut) return "draining";
    return node.deadline !== undefined && node.deadline <= now ? "deadline" : undefined;
  }

  /** Why a newcomer who has to wait would wait in vain. */
  protected hopeless(node: Node, weight: number, now: number): "grace" | "predicted" | undefined {
    if (this.grace <= 0) return "grace";
    const forecast = this.#forecast;
    if (forecast === undefined || this.line.head === undefined) return undefined;
    const { deadline = Infinity } = node;
    return forecast.tooMany(this.line.ahead(node, weight), this.max, deadline - now, now) ? "predicted" : undefined;
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

  /** Puts down that `node` has its permits without having waited. */
  protected hold(node: Node, weight: number): "granted" {
    node[OWNER] = this;
    node[STATE] = "held";
    node[WEIGHT] = weight;
    return "granted";
  }

  protected park(node: Node, weight: number, now: number): void {
    node[OWNER] = this;
    node[STATE] = "queued";
    node[SEQ] = this.#seq++;
    node[WEIGHT] = weight;
    node[ENTERED] = now;
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
    node[STATE] = outcome;
    node[ENTERED] = now - node[ENTERED]!;
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

  /** So many permits are back, those of `node` if they were a waiter's. */
  protected takeBack(weight: number, node: Node | undefined, ran: boolean): void {
    this.inUse -= weight;
    if (this.line.head !== undefined) {
      this.rate.count(weight);
      this.#forecast?.returned(weight);
    }
    if (node !== undefined) this.settle(node, ran);
    if (this.line.head !== undefined) {
      const now = this.clock.now();
      if (node !== undefined && ran) this.#learn(node, now);
      this.serve(now);
    } else if (this.shut && this.inUse === 0) { for (const resolve of this.#drained.splice(0)) resolve(); }
  }

  /** The permits of `node`, which somebody may have waited for, were out until `now`. */
  #learn(node: Node, now: number): void {
    const since = node[SINCE];
    if (since !== undefined && since > 0) this.#forecast?.held(now - since, node[WEIGHT]!);
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
