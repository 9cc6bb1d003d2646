import { CoreError } from "../../core/error.ts";
import type { Criticality, Gate, Refusal, Waiter } from "../../core/contracts/gates.ts";
import { acquire, type AcquireOptions, GatePermit } from "./acquire.ts";
import { whole } from "./checks.ts";
import type { Counts } from "./counts.ts";
import { secondsToDrain } from "./drain_rate.ts";
import { GateCore } from "./gate_core.ts";
import type { LineOptions } from "./gate_options.ts";
import { Line, type WaitingLine } from "./line.ts";
import { type Linked, NODE } from "./queue_node.ts";

/** One who waits, for whoever wants to look. */
export interface WaiterView {
  readonly criticality: Criticality;
  readonly key: string | undefined;
  readonly weight: number;
  readonly waitedMs: number;
}

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
export class FairGate extends GateCore implements Gate {
  readonly #random: () => number;

  /** `sorted`: whoever came first has waited longest. */
  constructor(options: LineOptions, line: WaitingLine = new Line(), sorted = true) {
    super(options, line, sorted);
    this.#random = options.random ?? Math.random;
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
    return oldest === undefined ? 0 : this.clock.now() - oldest.entered;
  }

  /** Who has the next permits, unless something changes; undefined when nobody waits for permits of the gate. */
  get next(): Waiter | undefined {
    return this.line.head?.waiter;
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

  /** Who waits, in the order they came, at most so many of them. */
  waiting(most: number = Infinity): WaiterView[] {
    const now = this.clock.now();
    const shown: WaiterView[] = [];
    for (const node of this.line) {
      if (shown.length >= most) break;
      const { criticality = "critical", key } = node.waiter!;
      shown.push({ criticality, key, weight: node.weight, waitedMs: now - node.entered });
    }
    return shown;
  }

  tryEnter(weight = 1): boolean {
    if (weight !== 1) this.check(weight);
    if (this.line.head !== undefined || this.inUse + weight > this.max || this.shut) return false;
    this.inUse += weight;
    this.tally.immediate++;
    return true;
  }

  enter(waiter: Waiter): "granted" | "queued" | Refusal {
    const weight = this.arrive(waiter);
    const { deadline = Infinity } = waiter;
    const arrived = this.timeFor(deadline);
    const late = this.tooLate(deadline, arrived);
    if (late !== undefined) return this.refuse(late);
    if (this.tryEnter(weight)) {
      this.hold(waiter, weight);
      return "granted";
    }
    if (this.line.size >= this.maxQueue) return this.refuse("full");
    const now = arrived || this.clock.now();
    const never = this.hopeless(waiter, weight, deadline, now);
    if (never !== undefined) return this.refuse(never);
    this.park(this.queue(waiter, weight, deadline), now);
    return "queued";
  }

  cancel(waiter: Waiter): boolean {
    const node = (waiter as Linked)[NODE];
    if (node === undefined || node.owner !== this) return false;
    const state = node.state;
    if (state === "done" || state === "held") return false;
    const head = this.line.head;
    node.state = "done";
    this.tally.cancelled++;
    if (state === "queued") {
      this.unlink(node, this.clock.now());
      this.nodes.give(node);
    }
    if (state === "granted") this.comeBack(node, false);
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
    this.takeBack(held);
  }

  /** As in {@linkcode Gate}. Waiters that want more than the new limit are refused as `full`: they could wait for ever. */
  resize(limit: number): void {
    const before = this.max;
    this.max = whole("limit", limit);
    this.rate.scale(limit / before);
    if (limit < before && this.line.weight > this.line.size) {
      const now = this.clock.now();
      for (const node of this.line) if (node.weight > limit) this.decide(node, "full", now);
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
    return this.emptied();
  }

  /** Like {@linkcode FairGate.drain} without waiting. Permits that are out may still be given back. */
  close(): void {
    this.shut = true;
    this.deadlines.off();
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

  /** Permits out that may be given back by their number. */
  protected get unbound(): number {
    return this.inUse;
  }

  #leaves(waiter: Waiter): void {
    const node = (waiter as Linked)[NODE];
    if (node === undefined || node.owner !== this || node.state !== "held") return;
    node.state = "done";
    this.comeBack(node, true);
  }
}
