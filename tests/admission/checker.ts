import type { Criticality, Waiter } from "../../core/contracts/gates.ts";
import { ClassedLine } from "../../plugins/admission/classed_line.ts";
import { placeOf } from "../../plugins/admission/classes.ts";
import type { FairGate } from "../../plugins/admission/fair_gate.ts";
import type { GateOptions } from "../../plugins/admission/gate_options.ts";
import type { GateClass } from "./seeded_bugs.ts";
import { VirtualClock } from "./virtual_clock.ts";

/** One of the few clients of a small world, and what it does from inside its own grant. */
export interface ClientSpec {
  readonly weight: number;
  /** Ticks it is ready to wait. */
  readonly patience?: number;
  readonly onGrant?: { readonly cancel: number } | "leave" | "throw" | undefined;
  readonly criticality?: Criticality;
  readonly key?: string;
}

export interface World {
  readonly limit: number;
  /** A second limit to resize to and back from. */
  readonly otherLimit?: number;
  readonly maxQueue?: number;
  readonly clients: readonly ClientSpec[];
  readonly drains?: boolean;
  /** Classes, keys and their caps. */
  readonly options?: Partial<GateOptions>;
}

export interface Verdict {
  readonly states: number;
  /** The first broken invariant and the shortest way to it. */
  readonly violation?: string;
}

type Action =
  | readonly ["enter" | "cancel" | "leave", number]
  | readonly ["resize" | "tick" | "drain"];

/**
 * Walks every interleaving of the clients' actions, breadth first, until no new state turns up, and checks the invariants
 * after each step. A state cannot be copied out of a real gate, so each is reached again by its shortest path.
 */
export function explore(Gate: GateClass, world: World): Verdict {
  const paths: Action[][] = [[]];
  const seen = new Set<string>([new Run(Gate, world).key()]);
  for (let path = paths.shift(); path !== undefined; path = paths.shift()) {
    const here = new Run(Gate, world);
    for (const action of path) here.act(action);
    for (const action of here.enabled()) {
      const run = new Run(Gate, world);
      for (const step of path) run.act(step);
      run.act(action);
      const next = [...path, action];
      const broken = run.broken();
      if (broken !== undefined) return { states: seen.size, violation: `${broken}: ${JSON.stringify(next)}` };
      const key = run.key();
      if (seen.has(key)) continue;
      seen.add(key);
      paths.push(next);
    }
  }
  return { states: seen.size };
}

/** A gate, its clients, and what must be true of both. */
export class Run {
  readonly world: World;
  readonly clock: VirtualClock = new VirtualClock();
  readonly gate: FairGate;
  /** Who holds, and who waits in order of arrival: kept from verdicts and callbacks only. */
  readonly holding: Set<number> = new Set();
  readonly waiting: number[] = [];
  readonly waiters: (Waiter | undefined)[];
  readonly held: (Waiter | undefined)[];
  readonly until: number[];
  drained = false;
  overLimit = 0;
  fault: string | undefined;

  constructor(Gate: GateClass, world: World) {
    this.world = world;
    this.gate = new Gate({
      limit: world.limit,
      maxQueue: world.maxQueue ?? Infinity,
      clock: this.clock,
      onError() {},
      ...world.options,
    });
    this.waiters = world.clients.map(() => undefined);
    this.held = world.clients.map(() => undefined);
    this.until = world.clients.map(() => Infinity);
  }

  enabled(): Action[] {
    const actions: Action[] = [];
    for (let id = 0; id < this.world.clients.length; id++) {
      if (this.holding.has(id)) actions.push(["leave", id]);
      else if (this.waiting.includes(id)) actions.push(["cancel", id]);
      else if (this.world.clients[id]!.weight <= this.gate.limit) actions.push(["enter", id]);
    }
    if (this.world.otherLimit !== undefined) actions.push(["resize"]);
    if (this.world.clients.some((client) => client.patience !== undefined)) actions.push(["tick"]);
    if (this.world.drains && !this.drained) actions.push(["drain"]);
    return actions;
  }

  act([what, id = -1]: Action): void {
    if (what === "enter") this.#enter(id);
    else if (what === "cancel") this.#cancel(id);
    else if (what === "leave") this.#leave(id);
    else if (what === "tick") this.clock.advance(1);
    else if (what === "drain") {
      this.drained = true;
      this.gate.close();
    } else {
      this.gate.resize(this.gate.limit === this.world.limit ? this.world.otherLimit! : this.world.limit);
      this.overLimit = Math.max(this.gate.used - this.gate.limit, 0);
    }
  }

  broken(): string | undefined {
    if (this.fault !== undefined) return this.fault;
    const { gate, world } = this;
    const weightOf = (ids: Iterable<number>) =>
      Array.from(ids, (id) => world.clients[id]!.weight).reduce((a, b) => a + b, 0);
    if (gate.used !== weightOf(this.holding)) return `I1: ${gate.used} used, ${weightOf(this.holding)} held`;
    if (gate.used > gate.limit + this.overLimit) return `I2: ${gate.used} used of ${gate.limit}`;
    this.overLimit = Math.min(this.overLimit, Math.max(gate.used - gate.limit, 0));
    if (gate.queued !== this.waiting.length) return `I12: ${gate.queued} queued, ${this.waiting.length} wait`;
    if (gate.queuedWeight !== weightOf(this.waiting)) return "I12: weight of the line";
    const next = this.waiting.find((id) => this.waiters[id] === gate.next);
    const able = this.waiting.filter((id) => this.#mayBeNext(id));
    if ((gate.next !== undefined || able.length > 0) && (next === undefined || !able.includes(next))) {
      return `I4: ${next} is next, not one of ${able}`;
    }
    if (next !== undefined && gate.used + world.clients[next]!.weight <= gate.limit) {
      return `I3: ${next} fits and waits`;
    }
    for (const key of new Set(world.clients.map((client) => client.key))) {
      if (key === undefined) continue;
      const held = weightOf([...this.holding].filter((id) => world.clients[id]!.key === key));
      if (held > (world.options?.keyLimit || Infinity)) return `I2: ${held} held by ${key}`;
      const queued = this.waiting.filter((id) => world.clients[id]!.key === key).length;
      if (queued > (world.options?.keyQueue || Infinity)) return `I11: ${queued} wait of ${key}`;
    }
    if (gate.queued > (world.maxQueue ?? Infinity)) return `I11: ${gate.queued} queued`;
    if (this.drained && this.waiting.length > 0) return "I5: waits at a drained gate";
    const late = this.waiting.find((id) => this.until[id]! <= this.clock.time);
    if (late !== undefined) return `I5: ${late} waits past its deadline`;
    if (gate.counts.overtakes !== 0) return "I4: overtakes";
    if (this.holding.size === 0 && this.waiting.length === 0 && gate.keys > 0) return `I6: ${gate.keys} keys are kept`;
    return undefined;
  }

  key(): string {
    const left = this.waiting.map((id) => this.until[id]! - this.clock.time);
    return JSON.stringify([
      [...this.holding].sort(),
      this.waiting,
      left,
      this.gate.limit,
      this.drained,
      this.overLimit,
      this.waiting.find((id) => this.waiters[id] === this.gate.next),
      hidden(this.gate),
    ]);
  }

  /** Whether `a` and `b` wait in one order of arrival. */
  #together(a: number, b: number): boolean {
    const [one, other] = [this.world.clients[a]!, this.world.clients[b]!];
    const { shares, keys, keyLimit, keyQueue } = this.world.options ?? {};
    return (!shares || placeOf(one.criticality) === placeOf(other.criticality)) &&
      (!(keys || keyLimit || keyQueue) || one.key === other.key);
  }

  #firstOf(id: number): number | undefined {
    return this.waiting.find((other) => this.#together(id, other));
  }

  #mayBeNext(id: number): boolean {
    const { weight, key } = this.world.clients[id]!;
    if (this.#firstOf(id) !== id) return false;
    const cap = this.world.options?.keyLimit || Infinity;
    const held = [...this.holding].filter((other) => this.world.clients[other]!.key === key);
    return key === undefined || weight + held.reduce((sum, other) => sum + this.world.clients[other]!.weight, 0) <= cap;
  }

  #place(id: number): number {
    return this.world.options?.shares ? placeOf(this.world.clients[id]!.criticality) : 1;
  }

  #enter(id: number): void {
    const spec = this.world.clients[id]!;
    const until = spec.patience === undefined ? Infinity : this.clock.time + spec.patience;
    const waiter: Waiter = {
      weight: spec.weight,
      deadline: until,
      ...(spec.criticality && { criticality: spec.criticality }),
      ...(spec.key && { key: spec.key }),
      onGrant: () => {
        if (this.#firstOf(id) !== id) this.fault ??= `I4: ${id} granted before ${this.#firstOf(id)}`;
        if (this.clock.time >= until) this.fault ??= `I10: ${id} granted past its deadline`;
        this.#end(id, waiter);
        this.holding.add(id);
        this.held[id] = waiter;
        if (spec.onGrant === "leave") this.#leave(id);
        else if (spec.onGrant === "throw") throw new Error("seeded");
        else if (spec.onGrant !== undefined && this.waiting.includes(spec.onGrant.cancel)) {
          this.#cancel(spec.onGrant.cancel);
        }
      },
      onRefuse: (reason) => {
        if (reason === "draining" && this.waiting[0] !== id) {
          this.fault ??= `I5: ${id} drained before ${this.waiting[0]}`;
        }
        if (reason === "evicted" && this.waiting.some((other) => other !== id && this.#evictedBefore(other, id))) {
          this.fault ??= `I14: ${id} evicted`;
        }
        this.#end(id, waiter);
      },
    };
    const queued = this.waiting.length;
    const lower = this.waiting.some((other) => this.#place(other) > this.#place(id));
    const verdict = this.gate.enter(waiter);
    if (verdict === "granted") {
      const first = this.#firstOf(id);
      if (first !== undefined) this.fault ??= `I4: ${id} passed ${first}`;
      this.holding.add(id);
      this.held[id] = waiter;
    } else if (verdict === "queued") {
      this.waiters[id] = waiter;
      this.until[id] = until;
      this.waiting.push(id);
    } else if (verdict === "full" && (lower || queued < (this.world.maxQueue ?? Infinity))) {
      this.fault ??= "I11: full too early";
    }
  }

  /** Whether `a` gives its place to a higher class before `b` does. */
  #evictedBefore(a: number, b: number): boolean {
    const [one, other] = [this.#place(a), this.#place(b)];
    return one > other || (one === other && this.waiting.indexOf(a) > this.waiting.indexOf(b));
  }

  #end(id: number, waiter: Waiter): void {
    if (this.waiters[id] !== waiter) this.fault ??= `I7: callback of ${id} after its end`;
    this.waiters[id] = undefined;
    this.waiting.splice(this.waiting.indexOf(id), 1);
  }

  #cancel(id: number): void {
    const waiter = this.waiters[id]!;
    this.waiters[id] = undefined;
    this.waiting.splice(this.waiting.indexOf(id), 1);
    if (!this.gate.cancel(waiter)) this.fault ??= `I7: ${id} waits and cannot be cancelled`;
    if (this.gate.cancel(waiter)) this.fault ??= `I7: ${id} cancelled twice`;
  }

  #leave(id: number): void {
    const waiter = this.held[id]!;
    this.holding.delete(id);
    this.held[id] = undefined;
    this.gate.leave(waiter);
    this.gate.leave(waiter);
  }
}

/** What decides who is next later on and cannot be seen from outside: who is owed what. */
function hidden(gate: object): unknown {
  const { line } = gate as { line: unknown };
  if (!(line instanceof ClassedLine)) return undefined;
  const owing = line.classes.map(({ started, ring }) => {
    const owed: unknown[] = [];
    const turn = ring.turn;
    for (let each = turn; each !== undefined; each = each.after === turn ? undefined : each.after) {
      owed.push([each.account.key, each.able, each.deficit]);
    }
    return [Math.max(started - line.round.served, 0), owed];
  });
  return [owing, line.bound, line.accounts.size];
}
