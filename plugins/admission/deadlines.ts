import { Alarm } from "../../core/alarm.ts";
import type { Clock } from "../../core/clock.ts";
import { DeadlineHeap, endsBefore } from "./deadline_heap.ts";
import type { WaitingLine } from "./line.ts";
import type { Node } from "./queue_node.ts";

/**
 * When the waits of a line end. Whoever came first has its grace window end first, so the line itself is the queue of those
 * moments; only waiters with an earlier deadline of their own (all of them, when the line is not `sorted`) go to a heap.
 */
export class Deadlines {
  readonly #line: WaitingLine;
  readonly #grace: number;
  readonly #sorted: boolean;
  readonly #heap = new DeadlineHeap();
  readonly #alarm: Alarm;

  constructor(line: WaitingLine, grace: number, sorted: boolean, clock: Clock, ring: () => void) {
    this.#line = line;
    this.#grace = grace;
    this.#sorted = sorted;
    this.#alarm = new Alarm(clock, ring);
  }

  /** Sets when the wait of `node` ends, once and for all. */
  watch(node: Node, now: number): void {
    const graceEnds = now + this.#grace;
    const { deadline } = node;
    const expires = deadline < graceEnds ? deadline : graceEnds;
    node.expires = expires;
    if (expires === Infinity) return;
    if (expires < graceEnds || !this.#sorted) this.#heap.add(node);
    this.#alarm.by(expires, now);
  }

  forget(node: Node): void {
    this.#heap.remove(node);
  }

  /** The waiter whose time passed first, if any has at `now`; of those with the same time, whoever came first. */
  due(now: number): Node | undefined {
    const own = this.#heap.first;
    const oldest = this.#line.oldest;
    const first = own !== undefined && oldest !== undefined && endsBefore(own, oldest) ? own : oldest;
    return first !== undefined && first.expires <= now ? first : undefined;
  }

  /** What ended the wait of `node`. */
  reason(node: Node): "deadline" | "grace" {
    return node.deadline <= node.entered + this.#grace ? "deadline" : "grace";
  }

  /** Has the alarm ring for the next wait that ends. */
  rearm(now: number): void {
    const first = this.#heap.first?.expires ?? Infinity;
    const oldest = (this.#line.oldest?.entered ?? Infinity) + this.#grace;
    this.#alarm.by(Math.min(first, oldest), now);
  }

  off(): void {
    this.#alarm.off();
  }
}
