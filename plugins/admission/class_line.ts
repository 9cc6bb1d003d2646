import type { Account } from "./account.ts";
import { Arrivals } from "./arrivals.ts";
import { KeyLine } from "./key_line.ts";
import { KeyRing } from "./key_ring.ts";
import type { Node } from "./queue_node.ts";

/** Of the newest of a class, how many are looked at for one whose key crowds out others. */
const looked = 16;

/** The waiters of one class: by key in the round of keys, and in order of arrival. */
export class ClassLine {
  readonly place: number;
  /** Its share of the permits, relative to the other classes. */
  readonly share: number;
  readonly ring: KeyRing;
  /** Those without a key; where keys are not told apart, all. */
  readonly common: KeyLine;
  /** Who of the class is next. */
  next: Node | undefined = undefined;
  /** Whether the newest of a key goes first. */
  newest = false;
  size = 0;
  /** Permits wanted by all of them. */
  weight = 0;
  /** Since when somebody of the class has waited. */
  since = 0;
  /** The class's place in virtual time: what it was charged, over its share. */
  started = 0;
  /** Where the class would be with `next` let in: of all classes, the one with the least goes first. */
  finish = 0;
  /** Undefined where one line has them all in this order. */
  readonly #arrivals: Arrivals | undefined;

  constructor(place: number, share: number, common: KeyLine, keyed: boolean, idle: (account: Account) => void) {
    this.place = place;
    this.share = share;
    this.common = common;
    this.ring = new KeyRing(idle);
    this.#arrivals = keyed ? new Arrivals() : undefined;
  }

  get oldest(): Node | undefined {
    return this.#arrivals === undefined ? this.common.head : this.#arrivals.oldest;
  }

  get latest(): Node | undefined {
    return this.#arrivals === undefined ? this.common.tail : this.#arrivals.latest;
  }

  /** In order of arrival. */
  get arrivals(): Iterable<Node> {
    return this.#arrivals ?? this.common;
  }

  append(node: Node): void {
    if (this.size++ === 0) this.since = node.entered;
    this.weight += node.weight;
    this.#arrivals?.push(node);
  }

  unlink(node: Node): void {
    this.size--;
    this.weight -= node.weight;
    this.#arrivals?.remove(node);
  }

  /** Of the newest, one whose key has most waiters of theirs, and more than `most`: who has filled the line is likely to have come last. */
  crowding(most: number): Node | undefined {
    if (this.#arrivals === undefined) return undefined;
    let found: Node | undefined;
    for (const node of this.#arrivals.newest(looked)) {
      const theirs = node.line!.account;
      if (!theirs.capped || theirs.queued <= most) continue;
      most = theirs.queued;
      found = node;
    }
    return found;
  }

  /** What `weight` permits of `line` are charged before it is known how long they are out. */
  guess(line: KeyLine, weight: number): number {
    return weight * (line.mean === 0 ? this.ring.quantum : line.mean);
  }
}
