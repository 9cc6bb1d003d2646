import { type Account, Accounts } from "./accounts.ts";
import { ClassLine } from "./class_line.ts";
import { ClassRound } from "./class_round.ts";
import { defaultClass, placeOf } from "./classes.ts";
import type { Fair } from "./gate_options.ts";
import type { KeyLine } from "./key_line.ts";
import type { WaitingLine } from "./line.ts";
import { COST, LINE, type Node, SEQ, SINCE, WEIGHT } from "./queue_node.ts";

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

/** How much of a new measurement of slot time goes into the mean. */
const fresh = 0.1;

/**
 * A line of classes with guaranteed shares ({@linkcode ClassRound}), in each of them keys that take turns
 * ({@linkcode KeyRing}), in each key an order of arrival. Every operation is O(1) in waiters and keys, and who neither becomes
 * next nor was it is counted and no more.
 *
 * Charged is a count of permits, or, with `fair: "time"`, how long they are out: a guess when they are given, set right when
 * they come back.
 */
export class ClassedLine implements WaitingLine {
  head: Node | undefined = undefined;
  size = 0;
  weight = 0;
  readonly classes: readonly ClassLine[];
  readonly accounts: Accounts;
  readonly round: ClassRound;
  /** Permits out of waiters with a key: they can be given back by their waiters only. */
  bound = 0;
  readonly #classed: boolean;
  readonly #keyed: boolean;
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
    this.#classed = shares !== undefined;
    this.#keyed = keys;
    this.#cap = keyLimit;
    this.capped = keyLimit !== Infinity;
    this.timed = fair === "time";
  }

  get oldest(): Node | undefined {
    let first: Node | undefined;
    for (const { oldest } of this.classes) {
      if (oldest !== undefined && (first === undefined || oldest[SEQ]! < first[SEQ]!)) first = oldest;
    }
    return first;
  }

  placeOf(node: Node): number {
    return this.#classed ? placeOf(node.criticality) : defaultClass;
  }

  /** The record of the key of `node`; undefined when nobody has used it. */
  accountOf(node: Node): Account | undefined {
    return this.#keyed ? this.accounts.find(node.key) : this.accounts.common;
  }

  /** Says where `node` waits, or whose permits it takes: of `account`, as {@linkcode ClassedLine.accountOf} has just found it. */
  assign(node: Node, account: Account | undefined, place: number): void {
    node[LINE] = (account ?? this.accounts.make(node.key!)).line(place);
  }

  /** Whether `weight` permits more would take `account` above its cap. */
  above(account: Account | undefined, weight: number): boolean {
    if (!this.capped) return false;
    if (account === undefined) return weight > this.#cap;
    return account.capped && account.used + weight > this.#cap;
  }

  push(node: Node): void {
    const line = node[LINE]!, weight = node[WEIGHT]!;
    const queue = this.classes[line.place]!, account = line.account;
    line.push(node);
    queue.append(node);
    account.queued++;
    account.wanted += weight;
    this.size++;
    this.weight += weight;
    // Behind another of its key, in order of arrival: nobody's turn changes.
    if (line.size > 1 && !queue.newest) return;
    this.#look(line, queue);
    this.#elect();
  }

  remove(node: Node): void {
    const line = node[LINE]!, weight = node[WEIGHT]!;
    const queue = this.classes[line.place]!, account = line.account;
    const first = line.head === node;
    account.queued--;
    account.wanted -= weight;
    line.remove(node);
    queue.unlink(node);
    this.size--;
    this.weight -= weight;
    if (!first && !queue.newest) return;
    if (this.capped) this.#lookAll(account);
    this.#look(line, queue);
    if (line.size === 0) this.accounts.tidy(account);
    this.#elect();
  }

  /** Charges the class and the key of `node`, which has permits from now on and leaves the line next. */
  charge(node: Node, now: number): void {
    const line = node[LINE]!, weight = node[WEIGHT]!;
    const queue = this.classes[line.place]!;
    const cost = this.timed ? queue.guess(line, weight) : weight;
    this.round.charge(queue, cost);
    if (this.#keyed) queue.ring.charge(line, cost);
    if (this.timed) {
      node[COST] = cost;
      node[SINCE] = now;
    }
    this.#count(line.account, weight);
  }

  /** Puts down permits of `node`, which did not have to wait. */
  claim(node: Node, now: number): void {
    if (this.timed) {
      node[COST] = 0;
      node[SINCE] = now;
    }
    const { account } = node[LINE]!;
    this.#count(account, node[WEIGHT]!);
    if (this.capped) this.#lookAll(account);
  }

  /** Takes note that the permits of `node` are back. `ran`: it was told that it had them. */
  release(node: Node, now: number, ran: boolean): void {
    const line = node[LINE];
    if (line === undefined) return;
    node[LINE] = undefined;
    const queue = this.classes[line.place]!, account = line.account;
    if (!ran) this.#correct(line, queue, -(this.timed ? node[COST]! : node[WEIGHT]!));
    else if (this.timed) {
      const weight = node[WEIGHT]!, cost = node[COST]!, spent = (now - node[SINCE]!) * weight;
      this.#learn(line, queue, spent / weight);
      if (cost > 0) this.#correct(line, queue, spent - cost);
    }
    this.#count(account, -node[WEIGHT]!);
    if (this.capped) this.#lookAll(account);
    this.accounts.tidy(account);
    if (ran && !this.timed && !this.capped) return;
    this.#choose(queue);
    this.#elect();
  }

  /** The newest of the lowest class below that at `place`. */
  lowest(place: number): Node | undefined {
    for (let lower = this.classes.length - 1; lower > place; lower--) {
      const latest = this.classes[lower]!.latest;
      if (latest !== undefined) return latest;
    }
    return undefined;
  }

  rival(node: Node): Node | undefined {
    return node[LINE]?.head;
  }

  ahead(node: Node, weight: number): number {
    const place = this.placeOf(node), own = this.classes[place]!;
    const account = this.accountOf(node);
    if (own.newest || this.above(account, weight)) return 0;
    let shares = own.share;
    for (const each of this.classes) if (each !== own && each.next !== undefined) shares += each.share;
    let ofClass = own.weight + weight;
    if (this.#keyed) {
      const line = account?.line(place);
      const keys = own.ring.able + (line?.able ? 0 : 1);
      ofClass = Math.min(ofClass, ((line?.weight ?? 0) + weight) * keys);
    }
    return Math.min(this.weight + weight, ofClass * shares / own.share);
  }

  /** The order of `queue` has changed. */
  reorder(queue: ClassLine, newest: boolean): void {
    queue.newest = newest;
    this.#choose(queue);
    this.#elect();
  }

  *[Symbol.iterator](): Generator<Node> {
    yield* this.classes.flatMap(({ arrivals }) => [...arrivals]).sort((a, b) => a[SEQ]! - b[SEQ]!);
  }

  /** `line` has cost its class and key `more` than they were charged. */
  #correct(line: KeyLine, queue: ClassLine, more: number): void {
    queue.started += more / queue.share;
    if (this.#keyed) queue.ring.charge(line, more);
  }

  /** `account` has `weight` permits more, or less. */
  #count(account: Account, weight: number): void {
    if (!account.capped) return;
    account.used += weight;
    this.bound += weight;
  }

  /** Looks at all lines of a key with a cap, of which more or less is out. */
  #lookAll(account: Account): void {
    if (account.queued === 0) return;
    const { first, others } = account;
    if (first !== undefined) this.#look(first, this.classes[first.place]!);
    if (others !== undefined) { for (const line of others) this.#look(line, this.classes[line.place]!); }
  }

  /** Looks whether somebody of `line` may be let in, and who of its class is next. */
  #look(line: KeyLine, queue: ClassLine): void {
    if (!this.#keyed) return this.#next(queue, line.first(queue.newest));
    const able = line.size > 0 && (!this.capped || !this.above(line.account, line.first(queue.newest)![WEIGHT]!));
    if (able && !line.able) queue.ring.enable(line);
    else if (!able && line.able) queue.ring.disable(line);
    this.#choose(queue);
  }

  #choose(queue: ClassLine): void {
    if (!this.#keyed) return this.#next(queue, queue.common.first(queue.newest));
    let next = queue.ring.choose()?.first(queue.newest);
    while (this.capped && next !== undefined && this.above(next[LINE]!.account, next[WEIGHT]!)) {
      // With the order turned round another of the key is first, and may be too heavy for it now.
      queue.ring.disable(next[LINE]!);
      next = queue.ring.choose()?.first(queue.newest);
    }
    this.#next(queue, next);
  }

  #next(queue: ClassLine, next: Node | undefined): void {
    if (queue.next === undefined && next !== undefined) this.round.resume(queue);
    queue.next = next;
    if (next === undefined || !this.#classed) return;
    const cost = this.timed ? queue.guess(next[LINE]!, next[WEIGHT]!) : next[WEIGHT]!;
    queue.finish = queue.started + cost / queue.share;
  }

  #elect(): void {
    this.head = this.#classed ? this.round.elect()?.next : this.classes[defaultClass]!.next;
  }

  #learn(line: KeyLine, queue: ClassLine, ms: number): void {
    line.mean = line.mean === 0 ? ms : line.mean + fresh * (ms - line.mean);
    const ring = queue.ring;
    ring.quantum = Math.max(ring.measured ? ring.quantum + fresh * (ms - ring.quantum) : ms, 0.001);
    ring.measured = true;
  }
}
