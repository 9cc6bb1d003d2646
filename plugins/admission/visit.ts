import type { Criticality, Gate, Refusal, Waiter } from "../../core/contracts/gates.ts";
import { WaiterBase } from "./queue_node.ts";

/** What a request brings to the gate. */
export interface Claim {
  readonly weight: number;
  /** On the gate's clock. */
  readonly deadline: number | undefined;
  readonly criticality: Criticality | undefined;
  readonly key: string | undefined;
}

/** One request at a gate: the waiter in line, and after that the permits it holds. */
export class Visit extends WaiterBase implements Waiter {
  readonly weight: number;
  readonly deadline?: number;
  readonly criticality?: Criticality;
  readonly key?: string;
  /** How long it stood in line, in ms. */
  waitedMs = 0;
  readonly #gate: Gate;
  /** What it holds permits by. */
  #held: number | this | undefined = undefined;
  #settle: ((refusal: Refusal | undefined) => void) | undefined = undefined;

  constructor(gate: Gate, claim: Claim) {
    super();
    this.#gate = gate;
    this.weight = claim.weight;
    if (claim.deadline !== undefined) this.deadline = claim.deadline;
    if (claim.criticality !== undefined) this.criticality = claim.criticality;
    if (claim.key !== undefined) this.key = claim.key;
  }

  /** Takes permits if that needs no wait and no look at class or key. */
  tryEnter(): boolean {
    const entered = this.#gate.tryEnter(this.weight);
    if (entered) this.#held = this.weight;
    return entered;
  }

  /** Resolves to undefined once the permits are held, else to why they are not. Nothing is left in the gate then. */
  async enter(signal: AbortSignal): Promise<Refusal | undefined> {
    if (signal.aborted) return "cancelled";
    const verdict = this.#gate.enter(this);
    if (verdict === "granted") this.#held = this;
    if (verdict !== "queued") return verdict === "granted" ? undefined : verdict;
    const refusal = await this.#wait(signal);
    if (refusal !== undefined || !signal.aborted) return refusal;
    // The client left between the grant and this turn: its work must not begin.
    this.release();
    return "cancelled";
  }

  /** Gives the permits back; does nothing the second time. */
  release(): void {
    const held = this.#held;
    this.#held = undefined;
    if (held !== undefined) this.#gate.leave(held);
  }

  onGrant(waitedMs: number): void {
    this.waitedMs = waitedMs;
    this.#held = this;
    this.#settle?.(undefined);
  }

  onRefuse(reason: Refusal, waitedMs: number): void {
    this.waitedMs = waitedMs;
    this.#settle?.(reason);
  }

  #wait(signal: AbortSignal): Promise<Refusal | undefined> {
    return new Promise((resolve) => {
      const leave = () => {
        if (this.#gate.cancel(this)) resolve("cancelled");
      };
      this.#settle = (refusal) => {
        signal.removeEventListener("abort", leave);
        resolve(refusal);
      };
      signal.addEventListener("abort", leave, { once: true });
    });
  }
}
