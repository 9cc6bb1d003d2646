import type { Account } from "./accounts.ts";
import type { KeyLine } from "./key_line.ts";
import { KeyRing } from "./key_ring.ts";
import { AHEAD, BEHIND, ENTERED, type Node } from "./queue_node.ts";

/** The waiters of one class: in order of arrival, and by key in the round of keys. */
export class ClassLine {
  readonly place: number;
  /** Its share of the permits, relative to the other classes. */
  readonly share: number;
  readonly ring: KeyRing;
  /** Who of the class is next. */
  next: Node | undefined = undefined;
  /** Whether the newest of a key goes first. */
  newest = false;
  oldest: Node | undefined = undefined;
  latest: Node | undefined = undefined;
  size = 0;
  /** Permits wanted by all of them. */
  weight = 0;
  /** Since when somebody of the class has waited. */
  since = 0;
  /** The class's place in virtual time: what it was charged, over its share. */
  started = 0;
  /** Where the class would be with `next` let in: of all classes, the one with the least goes first. */
  finish = 0;

  constructor(place: number, share: number, idle: (account: Account) => void) {
    this.place = place;
    this.share = share;
    this.ring = new KeyRing(idle);
  }

  append(node: Node): void {
    const latest = this.latest;
    node[AHEAD] = latest;
    node[BEHIND] = undefined;
    if (latest === undefined) {
      this.oldest = node;
      this.since = node[ENTERED]!;
    } else latest[BEHIND] = node;
    this.latest = node;
    this.size++;
  }

  unlink(node: Node): void {
    const ahead = node[AHEAD], behind = node[BEHIND];
    if (ahead === undefined) this.oldest = behind;
    else ahead[BEHIND] = behind;
    if (behind === undefined) this.latest = ahead;
    else behind[AHEAD] = ahead;
    node[AHEAD] = node[BEHIND] = undefined;
    this.size--;
  }

  /** What `weight` permits of `line` are charged before it is known how long they are out. */
  guess(line: KeyLine, weight: number): number {
    return weight * (line.mean === 0 ? this.ring.quantum : line.mean);
  }
}
