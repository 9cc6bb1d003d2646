import type { Node } from "./queue_node.ts";

/** Whether the wait of `a` ends before that of `b`; at the same moment, whoever came first. */
export function endsBefore(a: Node, b: Node): boolean {
  return a.expires < b.expires || (a.expires === b.expires && a.seq < b.seq);
}

/** A binary heap of waiters by deadline. Each knows its slot, so one in the middle is removed in O(log n). */
export class DeadlineHeap {
  readonly #nodes: Node[] = [];

  get first(): Node | undefined {
    return this.#nodes[0];
  }

  add(node: Node): void {
    this.#nodes.push(node);
    this.#rise(node, this.#nodes.length - 1);
  }

  remove(node: Node): void {
    const slot = node.slot;
    if (slot < 0) return;
    node.slot = -1;
    const last = this.#nodes.pop()!;
    if (last === node) return;
    this.#rise(last, slot);
    this.#sink(last, last.slot);
  }

  #rise(node: Node, slot: number): void {
    while (slot > 0) {
      const above = (slot - 1) >> 1;
      const parent = this.#nodes[above]!;
      if (!endsBefore(node, parent)) break;
      this.#put(parent, slot);
      slot = above;
    }
    this.#put(node, slot);
  }

  #sink(node: Node, slot: number): void {
    for (;;) {
      let below = 2 * slot + 1;
      let child = this.#nodes[below];
      if (child === undefined) break;
      const other = this.#nodes[below + 1];
      if (other !== undefined && endsBefore(other, child)) {
        child = other;
        below++;
      }
      if (!endsBefore(child, node)) break;
      this.#put(child, slot);
      slot = below;
    }
    this.#put(node, slot);
  }

  #put(node: Node, slot: number): void {
    this.#nodes[slot] = node;
    node.slot = slot;
  }
}
