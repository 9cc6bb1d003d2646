import type { Waiter } from "../../core/contracts/gates.ts";
import type { Account } from "./account.ts";
import { defaultClass, placeOf } from "./classes.ts";
import type { ClassLine } from "./class_line.ts";
import type { KeyLine } from "./key_line.ts";
import type { WaitingLine } from "./line.ts";
import { merged } from "./merged.ts";
import type { Node } from "./queue_node.ts";
import { Turns } from "./turns.ts";

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
export class ClassedLine extends Turns implements WaitingLine {
  size = 0;
  weight = 0;
  /** Permits out of waiters with a key: they can be given back by their waiters only. */
  bound = 0;

  get oldest(): Node | undefined {
    let first: Node | undefined;
    for (const { oldest } of this.classes) {
      if (oldest !== undefined && (first === undefined || oldest.seq < first.seq)) first = oldest;
    }
    return first;
  }

  placeOf(waiter: Waiter): number {
    return this.classed ? placeOf(waiter.criticality) : defaultClass;
  }

  /** The record of the key of `waiter`; undefined when there is none. */
  accountOf(waiter: Waiter): Account | undefined {
    return this.keyed ? this.accounts.find(waiter.key) : this.accounts.common;
  }

  /** Says where `node` waits, or whose permits it takes: of `account`, as {@linkcode ClassedLine.accountOf} has just found it. */
  assign(node: Node, account: Account | undefined, place: number): void {
    node.line = this.accounts.use(account ?? this.accounts.make(node.waiter!.key!), place);
  }

  push(node: Node): void {
    const line = node.line!, weight = node.weight;
    const queue = this.classes[line.place]!, account = line.account;
    line.push(node);
    queue.append(node);
    account.queued++;
    account.wanted += weight;
    this.size++;
    this.weight += weight;
    // Behind another of its key, in order of arrival: nobody's turn changes.
    if (line.size > 1 && !queue.newest) return;
    this.look(line, queue);
    this.elect();
  }

  remove(node: Node): void {
    const line = node.line!, weight = node.weight;
    const queue = this.classes[line.place]!, account = line.account;
    const first = line.head === node;
    account.queued--;
    account.wanted -= weight;
    line.remove(node);
    queue.unlink(node);
    this.size--;
    this.weight -= weight;
    if (!first && !queue.newest) return;
    if (this.capped) this.lookAll(account);
    this.look(line, queue);
    if (line.size === 0) this.accounts.tidy(account);
    this.elect();
  }

  /** Charges the class and the key of `node`, which has permits from now on and leaves the line next. */
  charge(node: Node): void {
    const line = node.line!, weight = node.weight;
    const queue = this.classes[line.place]!;
    const cost = this.timed ? queue.guess(line, weight) : weight;
    this.round.charge(queue, cost);
    if (this.keyed) queue.ring.charge(line, cost);
    if (this.timed) node.cost = cost;
    this.#count(line.account, weight);
  }

  /** Puts down permits of `node`, which did not have to wait. */
  claim(node: Node, now: number): void {
    if (this.timed) {
      node.cost = 0;
      node.since = now;
    }
    const { account } = node.line!;
    this.#count(account, node.weight);
    if (this.capped) this.lookAll(account);
  }

  /** Takes note that the permits of `node` are back. `ran`: it was told that it had them. */
  release(node: Node, now: number, ran: boolean): void {
    const line = node.line;
    if (line === undefined) return;
    const queue = this.classes[line.place]!, account = line.account;
    if (!ran) this.#correct(line, queue, -(this.timed ? node.cost : node.weight));
    else if (this.timed) {
      const weight = node.weight, cost = node.cost, spent = (now - node.since) * weight;
      this.#learn(line, queue, spent / weight);
      if (cost > 0) this.#correct(line, queue, spent - cost);
    }
    this.#count(account, -node.weight);
    if (this.capped) this.lookAll(account);
    this.accounts.tidy(account);
    if (ran && !this.timed && !this.capped) return;
    this.choose(queue);
    this.elect();
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
    return node.line?.head;
  }

  ahead(waiter: Waiter, weight: number): number {
    const place = this.placeOf(waiter), own = this.classes[place]!;
    const account = this.accountOf(waiter);
    if (own.newest || this.above(account, weight)) return 0;
    let shares = own.share;
    for (const each of this.classes) if (each !== own && each.next !== undefined) shares += each.share;
    let ofClass = own.weight + weight;
    if (this.keyed) {
      const line = account === undefined || account.idle ? undefined : account.line(place);
      const keys = own.ring.able + (line?.able ? 0 : 1);
      ofClass = Math.min(ofClass, ((line?.weight ?? 0) + weight) * keys);
    }
    return Math.min(this.weight + weight, ofClass * shares / own.share);
  }

  [Symbol.iterator](): Generator<Node> {
    return merged(this.classes.map(({ arrivals }) => arrivals));
  }

  /** `line` has cost its class and key `more` than they were charged. */
  #correct(line: KeyLine, queue: ClassLine, more: number): void {
    queue.started += more / queue.share;
    if (this.keyed) queue.ring.charge(line, more);
  }

  /** `account` has `weight` permits more, or less. */
  #count(account: Account, weight: number): void {
    if (!account.capped) return;
    account.used += weight;
    this.bound += weight;
  }

  #learn(line: KeyLine, queue: ClassLine, ms: number): void {
    line.mean = line.mean === 0 ? ms : line.mean + fresh * (ms - line.mean);
    const ring = queue.ring;
    ring.quantum = Math.max(ring.measured ? ring.quantum + fresh * (ms - ring.quantum) : ms, 0.001);
    ring.measured = true;
  }
}
