import type { Node } from "./queue_node.ts";

/** Slots at first, and as many as are kept while nobody waits. */
const least = 64;

/**
 * Waiters in order of arrival who leave in any order: a ring of slots in which who leaves is a hole. Unlike a linked list it
 * touches no neighbours, which in a long line are in no cache. Each hole is passed once, by whoever leaves at either end, so a line
 * in which most leave in order never has many. Slots are moved once there are as many as are in use: all is O(1), amortised.
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
    const slots = this.#slots, mask = slots.length - 1, at = node.arrived;
    slots[at & mask] = undefined;
    if (--this.size > 0) {
      // There is somebody, so both come to an end.
      if (at === this.#from) { while (slots[this.#from & mask] === undefined) this.#from++; }
      else if (at === this.#to - 1) { while (slots[(this.#to - 1) & mask] === undefined) this.#to--; }
      return;
    }
    this.#from = this.#to = 0;
    if (this.#slots.length > least) this.#slots = new Array<Node | undefined>(least).fill(undefined);
  }

  get oldest(): Node | undefined {
    return this.size === 0 ? undefined : this.#slots[this.#from & (this.#slots.length - 1)];
  }

  get latest(): Node | undefined {
    return this.size === 0 ? undefined : this.#slots[(this.#to - 1) & (this.#slots.length - 1)];
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
    const before = this.#slots, mask = before.length - 1;
    let to = 0;
    for (let i = this.#from; i < this.#to; i++) {
      const node = before[i & mask];
      if (node === undefined) continue;
      node.arrived = to;
      slots[to++] = node;
    }
    this.#slots = slots;
    this.#from = 0;
    this.#to = to;
  }
}
