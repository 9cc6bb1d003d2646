import type { Account } from "./account.ts";
import { Line } from "./line.ts";
import type { Node } from "./queue_node.ts";

/** The waiters of one key in one class, and where the key stands in the round of that class. */
export class KeyLine extends Line {
  account: Account;
  /** The place of the class: while the key is idle, of the last one it came to. */
  place: number;
  /** Its next and previous in the round; undefined when it is not in it. */
  after: KeyLine | undefined = undefined;
  before: KeyLine | undefined = undefined;
  /** Whether one of its waiters may be let in: there is one, and its key is below its cap. */
  able = false;
  /** What it may still be charged before its turn ends; below 0, what it owes. */
  deficit = 0;
  /** Mean time one of its permits is out, in ms; 0 before the first has come back. */
  mean = 0;

  /** Without an account it is an account itself. */
  constructor(account: Account | undefined, place: number) {
    super();
    this.account = account ?? (this as KeyLine as Account);
    this.place = place;
  }

  /** Who of the key is next. */
  first(newest: boolean): Node | undefined {
    return newest ? this.tail : this.head;
  }
}
