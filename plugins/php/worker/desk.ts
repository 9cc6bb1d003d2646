import type { CoreError } from "../../../core/error.ts";
import type { ExecutionWaiter } from "../execution_pool.ts";
import type { WorkerRequest } from "./handle.ts";
import type { WorkerLease } from "./lease.ts";
import type { Member } from "./member.ts";

/**
 * Where requests meet workers: idle workers on one side, requests that wait on the other, never both; and the permits of
 * requests that are over, until there is a worker for someone else.
 */
export class Desk {
  /** Members that can be lent, the one idle for longest first. */
  readonly #idle: Member[] = [];
  readonly #waiters = new Set<ExecutionWaiter<WorkerRequest>>();
  /** Leases that are not over. */
  #lent = 0;
  readonly #owed: (() => void)[] = [];
  readonly #onLend: () => void;
  /** Permits that the gate before the pool has given out, or may. */
  granted: number;
  /** Leases that are over. */
  executions = 0;

  /** @param onLend a worker was lent */
  constructor(granted: number, onLend: () => void) {
    this.granted = granted;
    this.#onLend = onLend;
  }

  get idle(): readonly Member[] {
    return this.#idle;
  }

  get waiting(): number {
    return this.#waiters.size;
  }

  checkout(): WorkerLease | undefined {
    for (;;) {
      const member = this.#idle.shift();
      if (member === undefined) return undefined;
      if (member.answers()) return this.#lend(member);
    }
  }

  wait(waiter: ExecutionWaiter<WorkerRequest>): void {
    this.#waiters.add(waiter);
  }

  cancel(waiter: ExecutionWaiter<WorkerRequest>): boolean {
    return this.#waiters.delete(waiter);
  }

  refuse(error: CoreError): void {
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const waiter of waiters) waiter.onRefuse(error);
  }

  /** A worker is free: for whoever has waited longest, or to be idle. */
  enter(member: Member, now: number): void {
    for (const waiter of this.#waiters) {
      this.#waiters.delete(waiter);
      return waiter.onLease(this.#lend(member));
    }
    member.rest(now);
    this.#idle.push(member);
  }

  /** A worker cannot be lent any more. */
  remove(member: Member): void {
    const place = this.#idle.indexOf(member);
    if (place >= 0) this.#idle.splice(place, 1);
  }

  over(onFree: (() => void) | undefined): void {
    this.#lent--;
    this.executions++;
    if (onFree !== undefined) this.#owed.push(onFree);
  }

  /**
   * Gives permits back, the oldest first, as long as there is a worker for one more guest: those permits that the gate still
   * has must not outnumber the idle workers because of one that is being replaced, or the next guest would wait here and not
   * in the line.
   */
  pay(closed: boolean): void {
    while (this.#owed.length > 0) {
      const unused = this.granted - this.#lent - this.#waiters.size - this.#owed.length;
      if (!closed && this.#idle.length <= unused) return;
      this.#owed.shift()!();
    }
  }

  #lend(member: Member): WorkerLease {
    const lease = member.lend();
    this.#lent++;
    this.#onLend();
    return lease;
  }
}
