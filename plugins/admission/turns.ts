import type { Account } from "./account.ts";
import { Accounts } from "./accounts.ts";
import { ClassLine } from "./class_line.ts";
import { ClassRound } from "./class_round.ts";
import { defaultClass } from "./classes.ts";
import type { Fair } from "./gate_options.ts";
import type { KeyLine } from "./key_line.ts";
import type { Node } from "./queue_node.ts";

export interface ClassedLineOptions {
  /** By place of the class. All are one class when absent. */
  readonly shares?: readonly number[] | undefined;
  readonly keys: boolean;
  /** Most permits of one key; Infinity for no cap. */
  readonly keyLimit: number;
  readonly fair: Fair;
  readonly maxKeys: number;
  readonly keyWeight?: ((key: string) => number) | undefined;
}

/** Who of a {@linkcode ClassedLine} is next: kept up to date by looking at the lines in which something has changed. */
export abstract class Turns {
  /** Who is next; undefined when nobody may be let in. */
  head: Node | undefined = undefined;
  readonly classes: readonly ClassLine[];
  readonly accounts: Accounts;
  readonly round: ClassRound;
  protected readonly classed: boolean;
  protected readonly keyed: boolean;
  readonly #cap: number;
  /** Whether keys have a cap. */
  readonly capped: boolean;
  /** Whether time is charged. */
  readonly timed: boolean;

  constructor(options: ClassedLineOptions) {
    const { shares, keys, keyLimit, fair, maxKeys, keyWeight } = options;
    const accounts = new Accounts(maxKeys, keyWeight);
    const idle = (account: Account) => accounts.tidy(account);
    this.classes = [0, 1, 2, 3].map((place) =>
      new ClassLine(place, shares?.[place] ?? 1, accounts.common.line(place), keys, idle)
    );
    this.accounts = accounts;
    this.round = new ClassRound(this.classes);
    this.classed = shares !== undefined;
    this.keyed = keys;
    this.#cap = keyLimit;
    this.capped = keyLimit !== Infinity;
    this.timed = fair === "time";
  }

  /** Whether `weight` permits more would take `account` above its cap. */
  above(account: Account | undefined, weight: number): boolean {
    if (!this.capped) return false;
    if (account === undefined) return weight > this.#cap;
    return account.capped && account.used + weight > this.#cap;
  }

  /** The order of `queue` has changed. */
  reorder(queue: ClassLine, newest: boolean): void {
    queue.newest = newest;
    this.choose(queue);
    this.elect();
  }

  /** Looks at all lines of a key with a cap, of which more or less is out. */
  protected lookAll(account: Account): void {
    if (account.queued === 0) return;
    const { others } = account;
    this.look(account, this.classes[account.place]!);
    if (others !== undefined) { for (const line of others) this.look(line, this.classes[line.place]!); }
  }

  /** Looks whether somebody of `line` may be let in, and who of its class is next. */
  protected look(line: KeyLine, queue: ClassLine): void {
    if (!this.keyed) return this.next(queue, line.first(queue.newest));
    const able = line.size > 0 && (!this.capped || !this.above(line.account, line.first(queue.newest)!.weight));
    if (able && !line.able) queue.ring.enable(line);
    else if (!able && line.able) queue.ring.disable(line);
    this.choose(queue);
  }

  protected choose(queue: ClassLine): void {
    if (!this.keyed) return this.next(queue, queue.common.first(queue.newest));
    let next = queue.ring.choose()?.first(queue.newest);
    while (this.capped && next !== undefined && this.above(next.line!.account, next.weight)) {
      // With the order turned round another of the key is first, and may be too heavy for it now.
      queue.ring.disable(next.line!);
      next = queue.ring.choose()?.first(queue.newest);
    }
    this.next(queue, next);
  }

  protected next(queue: ClassLine, next: Node | undefined): void {
    if (queue.next === undefined && next !== undefined) this.round.resume(queue);
    queue.next = next;
    if (next === undefined || !this.classed) return;
    const cost = this.timed ? queue.guess(next.line!, next.weight) : next.weight;
    queue.finish = queue.started + cost / queue.share;
  }

  protected elect(): void {
    this.head = this.classed ? this.round.elect()?.next : this.classes[defaultClass]!.next;
  }
}
