import { NEXT, type Node, PREV, WEIGHT } from "./queue_node.ts";

/** A doubly linked list through the waiters themselves: append, remove anywhere and take the head are O(1). */
export class Line {
  head: Node | undefined = undefined;
  tail: Node | undefined = undefined;
  size = 0;
  /** Permits wanted by all of them. */
  weight = 0;

  push(node: Node): void {
    const tail = this.tail;
    node[PREV] = tail;
    node[NEXT] = undefined;
    if (tail === undefined) this.head = node;
    else tail[NEXT] = node;
    this.tail = node;
    this.size++;
    this.weight += node[WEIGHT]!;
  }

  remove(node: Node): void {
    const next = node[NEXT];
    const prev = node[PREV];
    if (prev === undefined) this.head = next;
    else prev[NEXT] = next;
    if (next === undefined) this.tail = prev;
    else next[PREV] = prev;
    node[NEXT] = node[PREV] = undefined;
    this.size--;
    this.weight -= node[WEIGHT]!;
  }

  *[Symbol.iterator](): Generator<Node> {
    for (let node = this.head; node !== undefined;) {
      const next: Node | undefined = node[NEXT];
      yield node;
      node = next;
    }
  }
}
