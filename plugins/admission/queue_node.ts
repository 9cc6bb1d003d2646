import type { Refusal, Waiter } from "../../core/contracts/gates.ts";
import type { KeyLine } from "./key_line.ts";

/**
 * Where a waiter stands. `granted` and a refusal mean: decided, and the callback is still to run; `held`: it was let in and
 * its permits are out.
 */
export type State = "queued" | "granted" | Refusal | "held" | "done";

/**
 * A waiter's place in line, and after that the permits it holds. Gates read and write nothing else: waiters come in all shapes, and
 * code that has seen many of them is slow with each, while all nodes have one. {@linkcode NodePool} makes them.
 */
export class Node {
  /** Who waits; undefined between two uses. */
  waiter: Waiter | undefined = undefined;
  next: Node | undefined = undefined;
  prev: Node | undefined = undefined;
  /** The waiters of its class and key. */
  line: KeyLine | undefined = undefined;
  /** The gate it belongs to. */
  readonly owner: object;
  state: State = "done";
  seq = 0;
  weight = 1;
  /** When it got in line; once decided, how long it had waited. */
  entered = 0;
  /** Its own latest moment, and when the wait ends whatever ends it. */
  deadline: number = Infinity;
  expires = 0;
  /** When it was let in; 0 where nobody looked. */
  since = 0;
  /** Its place in the heap of deadlines; below 0 when it has none. */
  slot: number = -1;
  /** Its place among the {@linkcode Arrivals} of its class. */
  arrived: number = -1;
  /** What its class and key were charged when it was let in; 0 when it did not wait. */
  cost = 0;

  constructor(owner: object) {
    this.owner = owner;
  }
}

/** Under a symbol, so that it meets nothing of the caller's. */
export const NODE: unique symbol = Symbol("node");

/** A waiter that knows its node. */
export interface Linked extends Waiter {
  /** Absent, or undefined, before it has been in line or let in; one that belongs to no gate when that is over. */
  [NODE]?: Node | undefined;
}

/** What a waiter may extend to have from the start the one field that a gate keeps in it: its shape does not change in line. */
export abstract class WaiterBase implements Waiter {
  constructor() {
    (this as Linked)[NODE] = undefined;
  }

  abstract onGrant(waitedMs: number): void;
  abstract onRefuse(reason: Refusal, waitedMs: number): void;
}
