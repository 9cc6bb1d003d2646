import type { Waiter } from "../../core/contracts/gates.ts";
import { type Linked, NODE, Node } from "./queue_node.ts";

/** Nodes kept for waiters to come. A line that was longer leaves the rest to the collector. */
const most = 1024;

/** What a waiter has for a node once its visit is over: it may neither come again nor do anything. */
const over: Node = new Node({});

/**
 * The nodes of one gate, used again and again: whoever gets in line has the node of whoever was let in just before, which is in
 * the cache, and a long line is no work for the collector.
 */
export class NodePool {
  readonly #owner: object;
  /** The one given back last, linked to those before it. */
  #spare: Node | undefined = undefined;
  #spares = 0;

  constructor(owner: object) {
    this.#owner = owner;
  }

  /** A node for `waiter`. What its use needs set is for the caller to set: links and heap place are clear. */
  take(waiter: Waiter): Node {
    const spare = this.#spare;
    const node = spare ?? new Node(this.#owner);
    if (spare !== undefined) {
      this.#spare = spare.next;
      this.#spares--;
      spare.next = undefined;
    }
    node.waiter = waiter;
    (waiter as Linked)[NODE] = node;
    return node;
  }

  /** `node` is in no list any more, and its waiter's visit is over. */
  give(node: Node): void {
    node.state = "done";
    // Nobody else will have it, so it may say itself that the visit is over, and the waiter need not be touched.
    if (this.#spares >= most) return;
    (node.waiter as Linked)[NODE] = over;
    node.waiter = undefined;
    node.line = undefined;
    node.next = this.#spare;
    this.#spare = node;
    this.#spares++;
  }
}
