import { type Account, Accounts } from "./accounts.ts";
import { ClassLine } from "./class_line.ts";
import { placeOf } from "./classes.ts";
import type { Fair } from "./gate_options.ts";
import type { KeyLine } from "./key_line.ts";
import type { WaitingLine } from "./line.ts";
import { AHEAD, BEHIND, COST, LINE, type Node, SEQ, SINCE, WEIGHT } from "./queue_node.ts";

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

/** Waiters looked at for one whose key crowds out others. */
const looked = 16;

/** How much of a new measurement of slot time goes into the mean. */
const fresh = 0.1;

/**
 * A line of classes with guaranteed shares, in each of them keys that take turns, in each key an order of arrival.
 *
 * Between classes: self-clocked fair queuing (Golestani, INFOCOM 1994). Each class runs on its own virtual clock, what it
 * was charged over its share; the one whose next waiter would move it least far is next, and a class that was idle starts
 * where the others are. Between keys: {@linkcode KeyRing}. Every operation is O(1) in waiters and keys.
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
  /** Permits out of waiters with a key: they can be given back by their waiters only. */
  bound = 0;
  readonly #classed: boolean;
  readonly #keyed: boolean;
  readonly #cap: number;
  /** Whether time is charged. */
  readonly timed: boolean;
  /** Virtual time: where the class was that was served last. */
  served = 0;

  constructor(options: ClassedLineOptions) {
    this.accounts = new Accounts(options.maxKeys, options.keyWeight);
    const idle = (account: Account) => this.accounts.tidy(account);
    this.classes = [0, 1, 2, 3].map((place) => new ClassLine(place, options.shares?.[place] ?? 1, idle));
    this.#classed = options.shares !== undefined;
    this.#keyed = options.keys;
    this.#cap = options.keyLimit;
    this.timed = options.fair === "time";
  }

  get oldest(): Node | undefined {
    let first: Node | undefined;
    for (const { oldest } of this.classes) {
      if (oldest !== undefined && (first === undefined || oldest[SEQ]! < first[SEQ]!)) first = oldest;
    }
    return first;
  }

  placeOf(node: Node): number {
    return this.#classed ? placeOf(node.criticality) : placeOf(undefined);
  }

  /** The record of the key of `node`, if there is one yet. */
  accountOf(node: Node): Account | undefined {
    return this.#keyed ? this.accounts.find(node.key) : this.accounts.common;
  }

  /** Whether `weight` permits more would take `account` above its cap. */
  above(account: Account | undefined, weight: number): boolean {
    if (account === undefined) return weight > this.#cap;
    return account.capped && account.used + weight > this.#cap;
  }

  push(node: Node): void {
    const account = this.#keyed ? this.accounts.of(node.key) : this.accounts.common;
    const place = this.placeOf(node), weight = node[WEIGHT]!;
    const line = account.line(place), queue = this.classes[place]!;
    node[LINE] = line;
    line.push(node);
    queue.append(node);
    queue.weight += weight;
    account.queued++;
    account.wanted += weight;
    this.size++;
    this.weight += weight;
    this.#look(line, queue);
    this.#elect();
  }

  remove(node: Node): void {
    const line = node[LINE]!, weight = node[WEIGHT]!;
    const queue = this.classes[line.place]!;
    line.account.queued--;
    line.account.wanted -= weight;
    line.remove(node);
    queue.unlink(node);
    queue.weight -= weight;
    this.size--;
    this.weight -= weight;
    this.#look(line, queue);
    this.accounts.tidy(line.account);
    this.#elect();
  }

  /** Charges the class and the key of `node`, which has permits from now on and leaves the line next. */
  charge(node: Node, now: number): void {
    const line = node[LINE]!, weight = node[WEIGHT]!;
    const queue = this.classes[line.place]!;
    const cost = this.timed ? queue.guess(line, weight) : weight;
    if (queue.started > this.served) this.served = queue.started;
    queue.started += cost / queue.share;
    queue.ring.charge(line, cost);
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
    } else if (!this.#keyed || this.#cap === Infinity || node.key === undefined) return;
    const account = this.#keyed ? this.accounts.of(node.key) : this.accounts.common;
    node[LINE] = account.line(this.placeOf(node));
    this.#count(account, node[WEIGHT]!);
  }

  /** Takes note that the permits of `node` are back. `ran`: it was told that it had them. */
  release(node: Node, now: number, ran: boolean): void {
    const line = node[LINE];
    if (line === undefined) return;
    node[LINE] = undefined;
    const queue = this.classes[line.place]!;
    if (!ran) this.#correct(line, queue, -(this.timed ? node[COST]! : node[WEIGHT]!));
    else if (this.timed) {
      const weight = node[WEIGHT]!, cost = node[COST]!, spent = (now - node[SINCE]!) * weight;
      this.#learn(line, queue, spent / weight);
      if (cost > 0) this.#correct(line, queue, spent - cost);
    }
    this.#count(line.account, -node[WEIGHT]!);
    this.accounts.tidy(line.account);
    if (ran && !this.timed && this.#cap === Infinity) return;
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

  /**
   * Of the newest in the class at `place`, one whose key has most waiters of theirs, and at least two more than `account`:
   * who has filled the line is likely to have come last.
   */
  crowding(place: number, account: Account | undefined): Node | undefined {
    if (!this.#keyed) return undefined;
    let most = (account?.queued ?? 0) + 1;
    let found: Node | undefined;
    let node = this.classes[place]!.latest;
    for (let i = 0; i < looked && node !== undefined; i++, node = node[AHEAD]) {
      const theirs = node[LINE]!.account;
      if (!theirs.capped || theirs.queued <= most) continue;
      most = theirs.queued;
      found = node;
    }
    return found;
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
    const keys = own.ring.able + (account?.lines[place]?.able ? 0 : 1);
    const ofKey = ((account?.lines[place]?.weight ?? 0) + weight) * keys;
    return Math.min(this.weight + weight, Math.min(own.weight + weight, ofKey) * shares / own.share);
  }

  /** The order of `queue` has changed. */
  reorder(queue: ClassLine, newest: boolean): void {
    queue.newest = newest;
    this.#choose(queue);
    this.#elect();
  }

  *[Symbol.iterator](): Generator<Node> {
    const ahead = this.classes.map((each) => each.oldest);
    for (let first = this.#first(ahead); first !== undefined; first = this.#first(ahead)) {
      ahead[ahead.indexOf(first)] = first[BEHIND];
      yield first;
    }
  }

  /** `line` has cost its class and key `more` than they were charged. */
  #correct(line: KeyLine, queue: ClassLine, more: number): void {
    queue.started += more / queue.share;
    queue.ring.charge(line, more);
  }

  #first(nodes: readonly (Node | undefined)[]): Node | undefined {
    let first: Node | undefined;
    for (const node of nodes) {
      if (node !== undefined && (first === undefined || node[SEQ]! < first[SEQ]!)) first = node;
    }
    return first;
  }

  /** `account` has `weight` permits more, or less. */
  #count(account: Account, weight: number): void {
    if (!account.capped) return;
    account.used += weight;
    this.bound += weight;
    if (this.#cap === Infinity) return;
    for (const line of account.lines) if (line !== undefined) this.#look(line, this.classes[line.place]!);
  }

  /** Looks whether somebody of `line` may be let in, and who of its class is next. */
  #look(line: KeyLine, queue: ClassLine): void {
    const first = line.first(queue.newest);
    const able = first !== undefined && !this.above(line.account, first[WEIGHT]!);
    if (able && !line.able) queue.ring.enable(line);
    else if (!able && line.able) queue.ring.disable(line);
    this.#choose(queue);
  }

  #choose(queue: ClassLine): void {
    let next = queue.ring.choose()?.first(queue.newest);
    while (next !== undefined && this.above(next[LINE]!.account, next[WEIGHT]!)) {
      // With the order turned round another of the key is first, and may be too heavy for it now.
      queue.ring.disable(next[LINE]!);
      next = queue.ring.choose()?.first(queue.newest);
    }
    if (queue.next === undefined && next !== undefined && queue.started < this.served) queue.started = this.served;
    queue.next = next;
    if (next === undefined) return;
    const cost = this.timed ? queue.guess(next[LINE]!, next[WEIGHT]!) : next[WEIGHT]!;
    queue.finish = queue.started + cost / queue.share;
  }

  #elect(): void {
    let first: ClassLine | undefined;
    for (const each of this.classes) {
      if (each.next !== undefined && (first === undefined || each.finish < first.finish)) first = each;
    }
    this.head = first?.next;
  }

  #learn(line: KeyLine, queue: ClassLine, ms: number): void {
    line.mean = line.mean === 0 ? ms : line.mean + fresh * (ms - line.mean);
    const ring = queue.ring;
    ring.quantum = Math.max(ring.measured ? ring.quantum + fresh * (ms - ring.quantum) : ms, 0.001);
    ring.measured = true;
  }
}
