import type { Node } from "./queue_node.ts";
import type { Refusal } from "../../core/contracts/gates.ts";
import type { Tally } from "./counts.ts";
import type { NodePool } from "./node_pool.ts";

/**
 * Decided waiters whose callbacks are still to run, in order of decision. Callbacks run one after the other and never
 * inside each other: what one of them decides by calling the gate is delivered after it, from the loop that called it, so
 * the stack does not grow with the line.
 */
export class Outbox {
  readonly #tally: Tally;
  readonly #nodes: NodePool;
  readonly #onError: (error: unknown) => void;
  readonly #onRefused: ((reason: Refusal) => void) | undefined;
  #first: Node | undefined = undefined;
  #last: Node | undefined = undefined;
  #delivering = false;
  /** The newcomer that is told by a return value, and what it is told. */
  #newcomer: Node | undefined = undefined;
  #verdict: "queued" | "granted" | Refusal = "queued";

  constructor(
    tally: Tally,
    nodes: NodePool,
    onError: (error: unknown) => void,
    onRefused?: (reason: Refusal) => void,
  ) {
    this.#nodes = nodes;
    this.#onRefused = onRefused;
    this.#tally = tally;
    this.#onError = onError;
  }

  /** `node` has left the line, so its link is free to be used here. */
  post(node: Node): void {
    node.next = undefined;
    if (this.#last === undefined) this.#first = node;
    else this.#last.next = node;
    this.#last = node;
  }

  /**
   * Delivers, but for `newcomer`, which is still in its call of `enter`: what became of it is returned, `queued` when its
   * callback is still to come.
   */
  deliverFor(newcomer: Node): "queued" | "granted" | Refusal {
    if (this.#delivering) return "queued";
    this.#newcomer = newcomer;
    this.#verdict = "queued";
    this.deliver();
    this.#newcomer = undefined;
    return this.#verdict;
  }

  deliver(): void {
    if (this.#delivering) return;
    this.#delivering = true;
    for (let node = this.#first; node !== undefined; node = this.#first) {
      this.#first = node.next;
      if (this.#first === undefined) this.#last = undefined;
      node.next = undefined;
      this.#tell(node);
    }
    this.#delivering = false;
  }

  #tell(node: Node): void {
    const outcome = node.state, waited = node.entered, waiter = node.waiter!;
    if (outcome === "granted") node.state = "held";
    else this.#nodes.give(node);
    // Who was decided on has left by itself since.
    if (outcome === "done") return;
    if (node === this.#newcomer) return this.#say(outcome as "granted" | Refusal);
    try {
      if (outcome === "granted") {
        this.#tally.queued++;
        waiter.onGrant(waited);
      } else if (outcome !== "queued" && outcome !== "held" && outcome !== "cancelled") {
        this.#tally.refused[outcome]++;
        this.#onRefused?.(outcome);
        waiter.onRefuse(outcome, waited);
      }
    } catch (error) {
      this.#onError(error);
    }
  }

  #say(outcome: "granted" | Refusal): void {
    this.#verdict = outcome;
    if (outcome === "granted") this.#tally.immediate++;
    else if (outcome !== "cancelled") {
      this.#tally.refused[outcome]++;
      this.#onRefused?.(outcome);
    }
  }
}
