import type { Node } from "./queue_node.ts";

/** Slots at first, and as many as are kept while nobody waits. */
const least = 64;

/**
 * Waiters in order of arrival who leave in any order: a ring of slots in which who leaves is a hole. Unlike a linked list it
 * touches no neighbours, which in a long line are in no cache. Each hole is passed once, and slots are moved once there are as
 * many as are in use, so everything is O(1), amortised.
 */
export class Arrivals {
  size = 0;
  #slots: (Node | undefined)[] = new Array<Node | undefined>(least).fill(undefined);
  /** The first and the one behind the last slot in use, counted on and on. */
  #from = 0;
  #to = 0;

  push(node: Node): void {
    if (this.#to - this.#from === this.#slots.length) {
      this.#move(this.#slots.length * (2 * this.size > this.#slots.length ? 2 : 1));
    }
    node.arrived = this.#to;
    this.#slots[this.#to++ & (this.#slots.length - 1)] = node;
    this.size++;
  }

  remove(node: Node): void {
    this.#slots[node.arrived & (this.#slots.length - 1)] = undefined;
    if (--this.size > 0) return;
    this.#from = this.#to = 0;
    if (this.#slots.length > least) this.#slots = new Array<Node | undefined>(least).fill(undefined);
  }

  get oldest(): Node | undefined {
    if (this.size === 0) return undefined;
    const slots = this.#slots, mask = slots.length - 1;
    while (slots[this.#from & mask] === undefined) this.#from++;
    return slots[this.#from & mask];
  }

  get latest(): Node | undefined {
    if (this.size === 0) return undefined;
    const slots = this.#slots, mask = slots.length - 1;
    while (slots[(this.#to - 1) & mask] === undefined) this.#to--;
    return slots[(this.#to - 1) & mask];
  }

  /** From the newest on, at most so many slots, holes among them. */
  *newest(most: number): Generator<Node> {
    const end = Math.max(this.#from, this.#to - most);
    for (let i = this.#to - 1; i >= end; i--) {
      const node = this.#slots[i & (this.#slots.length - 1)];
      if (node !== undefined) yield node;
    }
  }

  *[Symbol.iterator](): Generator<Node> {
    for (let i = this.#from; i < this.#to; i++) {
      const node = this.#slots[i & (this.#slots.length - 1)];
      if (node !== undefined) yield node;
    }
  }

  #move(length: number): void {
    const slots = new Array<Node | undefined>(length).fill(undefined);
    let to = 0;
    for (const node of this) {
      node.arrived = to;
      slots[to++] = node;
    }
    this.#slots = slots;
    this.#from = 0;
    this.#to = to;
  }
}
