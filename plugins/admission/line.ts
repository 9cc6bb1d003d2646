import type { Waiter } from "../../core/contracts/gates.ts";
import type { Node } from "./queue_node.ts";

/** Those who wait at a gate, and who of them is next. */
export interface WaitingLine {
  /** Who is next; undefined when nobody is, or when all who wait do so for permits of their own keys. */
  readonly head: Node | undefined;
  /** Who has waited longest. */
  readonly oldest: Node | undefined;
  readonly size: number;
  /** Permits wanted by all of them. */
  readonly weight: number;
  push(node: Node): void;
  remove(node: Node): void;
  /** Who still waits and must not be passed by `node`, which has just left the line. */
  rival(node: Node): Node | undefined;
  /** Permits that come back before `waiter` has its own, at most, were it to get in line now; 0 when nobody can say. */
  ahead(waiter: Waiter, weight: number): number;
  /** In order of arrival; the one it gives may be removed. */
  [Symbol.iterator](): Iterator<Node>;
}

/**
 * The line in order of arrival: a doubly linked list through the waiters themselves. Append, remove anywhere and take the
 * head are O(1).
 */
export class Line implements WaitingLine {
  head: Node | undefined = undefined;
  tail: Node | undefined = undefined;
  size = 0;
  weight = 0;

  get oldest(): Node | undefined {
    return this.head;
  }

  push(node: Node): void {
    const tail = this.tail;
    node.prev = tail;
    node.next = undefined;
    if (tail === undefined) this.head = node;
    else tail.next = node;
    this.tail = node;
    this.size++;
    this.weight += node.weight;
  }

  remove(node: Node): void {
    const next = node.next;
    const prev = node.prev;
    if (prev === undefined) this.head = next;
    else prev.next = next;
    if (next === undefined) this.tail = prev;
    else next.prev = prev;
    node.next = node.prev = undefined;
    this.size--;
    this.weight -= node.weight;
  }

  rival(_node: Node): Node | undefined {
    return this.head;
  }

  ahead(_waiter: Waiter, weight: number): number {
    return this.weight + weight;
  }

  *[Symbol.iterator](): Generator<Node> {
    for (let node = this.head; node !== undefined;) {
      const next: Node | undefined = node.next;
      yield node;
      node = next;
    }
  }
}
