import type { Criticality, Refusal, Waiter } from "../../core/contracts/gates.ts";
import type { Exchange } from "../../core/exchange.ts";
import type { Awaitable, Permit } from "../../core/plugin.ts";
import type { FairGate } from "./fair_gate.ts";
import { shortMs, turnAway, waited } from "./lane.ts";
import type { RuledParts } from "./ruled_lane.ts";
import type { Terms } from "./rules.ts";
import type { Turn } from "./session_lines.ts";
import { WaiterBase } from "./queue_node.ts";

/**
 * One exchange on its way: it waits for its session if it must, then at the gate, then it holds the permits until it has run. It is
 * the waiter and the permit itself.
 */
export class Passage extends WaiterBase implements Waiter, Permit {
  readonly criticality: Criticality;
  readonly key?: string;
  /** Set anew when the wait for the session has used up some of the time. */
  deadline: number;
  readonly #parts: RuledParts;
  readonly #x: Exchange;
  readonly #own: boolean;
  #weight: number;
  #gate: FairGate;
  /** What the gate is given back: permits taken without a waiter, or the waiter. Undefined while it holds none. */
  #held: number | Waiter | undefined = undefined;
  #session: string | undefined;
  #turn: Turn | undefined = undefined;
  #waitedMs = 0;
  /** Permits wanted at the gate before it. */
  #ahead = 0;
  #settle: ((verdict: Permit | Response) => void) | undefined = undefined;
  #stay: (() => void) | undefined = undefined;

  constructor(parts: RuledParts, x: Exchange, terms: Terms, session: string | undefined, own: boolean) {
    super();
    this.#parts = parts;
    this.#x = x;
    this.#own = own;
    this.#gate = parts.gate;
    this.#session = session;
    this.#weight = terms.weight;
    // A call of the application to itself is not its visitor's.
    if (!own && terms.key !== undefined) this.key = terms.key;
    this.criticality = terms.criticality;
    this.deadline = parts.patience(x);
  }

  get weight(): number {
    return this.#weight;
  }

  start(): Awaitable<Permit | Response> {
    const verdict = this.#session === undefined ? this.#knock() : this.#await(this.#session);
    if (verdict === "granted") return this.#letIn("immediate", 0);
    if (verdict === "queued") return this.#later();
    this.#leaveSession();
    return turnAway(this.#parts, verdict, this.criticality);
  }

  /** The line of its session; then the gate at once, when it need not wait. */
  #await(session: string): "granted" | "queued" | Refusal {
    const { lines } = this.#parts.sessions!;
    const entry = lines.enter(session, {
      deadline: this.deadline,
      onGrant: (ms) => this.#onTurn(ms),
      onRefuse: (reason, ms) => {
        this.#session = undefined;
        this.onRefuse(reason, ms);
      },
    });
    if (entry === "granted") return this.#knock();
    if (typeof entry === "string") {
      this.#session = undefined;
      return entry;
    }
    this.#turn = entry;
    return "queued";
  }

  #onTurn(ms: number): void {
    const { now, grace } = this.#parts;
    this.#turn = undefined;
    this.#waitedMs = ms;
    this.deadline = Math.min(this.deadline, now() - ms + grace);
    const verdict = this.#knock();
    if (verdict === "granted") this.onGrant(0);
    else if (verdict !== "queued") this.onRefuse(verdict, 0);
  }

  #knock(): "granted" | "queued" | Refusal {
    const main = this.#parts.gate;
    const spare = this.#own ? this.#parts.spare() : undefined;
    if (spare !== undefined) {
      this.#weight = Math.min(this.#weight, spare.limit);
      for (const gate of [spare, main]) {
        if (this.#weight > gate.limit || !gate.tryEnter(this.#weight)) continue;
        this.#gate = gate;
        this.#held = this.#weight;
        return "granted";
      }
      this.#gate = spare;
    } else this.#weight = Math.min(this.#weight, main.limit);
    this.#ahead = this.#gate.queuedWeight;
    const verdict = this.#gate.enter(this);
    if (verdict === "granted") this.#held = this;
    return verdict;
  }

  #later(): Promise<Permit | Response> {
    return new Promise((resolve) => {
      this.#settle = resolve;
      this.#stay = this.#x.onGone(() => {
        const left = this.#turn === undefined ? this.#gate.cancel(this) : this.#turn.cancel();
        if (!left) return;
        if (this.#turn === undefined) this.#leaveSession();
        resolve(turnAway(this.#parts, "cancelled", this.criticality));
      });
    });
  }

  onGrant(ms: number): void {
    this.#held ??= this;
    const total = this.#waitedMs + ms;
    if (total > shortMs && this.#x.gone) {
      this.#end(total, turnAway(this.#parts, "cancelled", this.criticality));
      return this.#giveBack();
    }
    const { meter, now, gate } = this.#parts;
    // Who had his turn and found a permit free did not wait here.
    if (ms > 0 && this.#gate === gate) meter.fairness.granted(now(), ms, this.#ahead, this.#weight);
    this.#end(total, this.#letIn("queued", total));
  }

  onRefuse(reason: Refusal, ms: number): void {
    // What the session's line left of the grace window is this one's deadline at the gate, and no deadline of the client's.
    const late = reason === "deadline" && this.#waitedMs > 0 && this.#parts.now() < this.#parts.patience(this.#x);
    const response = turnAway(this.#parts, late ? "grace" : reason, this.criticality);
    this.#end(this.#waitedMs + ms, response);
    this.#leaveSession();
  }

  /** Gives back the permits, and the session to who waits for it. */
  release(): void {
    if (this.#held === undefined) return;
    this.#parts.steering?.ended(this.#x);
    this.#giveBack();
  }

  #letIn(outcome: "immediate" | "queued", ms: number): Permit {
    const count = this.#parts.meter.of(this.criticality);
    count.wait.observe(ms / 1000);
    count.total[outcome].inc();
    this.#parts.steering?.began(this.#x);
    return this;
  }

  #giveBack(): void {
    const held = this.#held!;
    this.#held = undefined;
    this.#gate.leave(held);
    this.#leaveSession();
  }

  #leaveSession(): void {
    const session = this.#session;
    this.#session = undefined;
    if (session !== undefined) this.#parts.sessions!.lines.leave(session);
  }

  #end(ms: number, verdict: Permit | Response): void {
    this.#stay?.();
    this.#x.extra.push(waited(ms));
    this.#settle?.(verdict);
  }
}
