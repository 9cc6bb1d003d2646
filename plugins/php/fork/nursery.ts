import type { WorkerExit } from "../worker/handle.ts";
import type { Ended } from "./ended.ts";

/** A booted process that forks. */
export interface Parent {
  readonly pid: number;
  /** Asks for a child, which will connect with this token. */
  fork(token: string): void;
  /** It forks no more, and ends when its children have. */
  stop(): void;
  /** Ends it at once. Its children live on. */
  kill(): void;
}

/** Told by a parent. Not before the call that starts it has returned. */
export interface ParentEvents<C> {
  /** It has booted. */
  onUp(): void;
  onBorn(child: C): void;
  onEnded(end: Ended): void;
  /** Its process is gone. The last call. */
  onGone(exit: WorkerExit): void;
}

/** What the nursery knows of a child. */
export interface Spare {
  readonly token: string;
  stop(): void;
  ended(end: Ended): void;
  /** Its parent is gone. */
  orphaned(): void;
}

/** Someone who wants a child. One of the two is called, once. */
export interface Order<C> {
  onBorn(child: C): void;
  /** The parent ended, or could not fork. */
  onFailed(exit: WorkerExit): void;
}

export interface NurseryOptions<C> {
  /** Begins to start a parent; failures come as `onGone`. */
  start(events: ParentEvents<C>): Parent;
  /** A new token. */
  token(): string;
  /** A child with this token is not wanted any more: its hello is refused. */
  forget(token: string): void;
  /** Children that are kept ready ahead of orders. */
  readonly spares: number;
  /** A parent that had booted is gone, unasked. `orphans`: its children that go on with their request. */
  onLost(exit: WorkerExit, orphans: number): void;
}

/** How long (ms) a parent without children may take to end when asked to. */
const endMs = 5000;

/**
 * The children of one parent at a time. The parent is started by the first order, and a new one by the first order after
 * it was lost: who orders has a back-off of its own. Children go to orders first come, first served; each one handed out
 * is replaced at once, so that orders seldom wait for a fork.
 */
export class Nursery<C extends Spare> {
  readonly #options: NurseryOptions<C>;
  #parent: Parent | undefined;
  #up = false;
  /** The current parent's number: what older ones say of themselves does not count. */
  #life = 0;
  readonly #asked = new Set<string>();
  readonly #children = new Map<string, C>();
  readonly #spares: C[] = [];
  readonly #orders: Order<C>[] = [];
  #closing: (() => void) | undefined;
  #late: ReturnType<typeof setTimeout> | undefined;
  #closed: Promise<void> | undefined;

  constructor(options: NurseryOptions<C>) {
    this.#options = options;
  }

  /** Of the parent; 0 while there is none. */
  get pid(): number {
    return this.#parent?.pid ?? 0;
  }

  /** Children that wait for an order. */
  get ready(): number {
    return this.#spares.length;
  }

  /** Its events come later, never within this call. */
  order(order: Order<C>): void {
    this.#orders.push(order);
    queueMicrotask(() => {
      if (!this.#orders.includes(order)) return;
      if (this.#closed !== undefined) return this.#fail({ code: 0, signal: null, lastWords: [] });
      if (this.#parent === undefined) this.#start();
      this.#serve();
    });
  }

  /**
   * Takes an order back; false when it has been served. One that has waited too long says so: then the parent is stuck, and is
   * ended.
   */
  cancel(order: Order<C>, waitedTooLong: boolean): boolean {
    const at = this.#orders.indexOf(order);
    if (at < 0) return false;
    this.#orders.splice(at, 1);
    if (waitedTooLong) this.#parent?.kill();
    return true;
  }

  /** A child is gone. */
  over(child: C): void {
    this.#children.delete(child.token);
    const at = this.#spares.indexOf(child);
    if (at >= 0) this.#spares.splice(at, 1);
    this.#hurry();
  }

  /** No more children: spares are stopped, the others finish. Settles when the parent is gone. */
  close(): Promise<void> {
    this.#closed ??= new Promise((done) => {
      this.#closing = done;
      for (const order of this.#orders.splice(0)) order.onFailed({ code: 0, signal: null, lastWords: [] });
      for (const child of this.#spares.splice(0)) child.stop();
      if (this.#parent === undefined) done();
      else if (this.#up) this.#parent.stop();
      else this.#parent.kill();
      this.#hurry();
    });
    return this.#closed;
  }

  /** A parent that has no more children and was asked to end has no reason to stay. */
  #hurry(): void {
    if (this.#closed === undefined || this.#children.size > 0 || this.#parent === undefined) return;
    this.#late ??= setTimeout(() => this.#parent?.kill(), endMs);
  }

  /** Ends the parent at once, for a close that must not wait. */
  kill(): void {
    this.#parent?.kill();
  }

  #start(): void {
    const life = ++this.#life;
    this.#up = false;
    this.#parent = this.#options.start({
      onUp: () => {
        if (life !== this.#life) return;
        this.#up = true;
        if (this.#closed !== undefined) this.#parent?.stop();
        else this.#refill();
      },
      onBorn: (child) => {
        this.#asked.delete(child.token);
        this.#children.set(child.token, child);
        if (this.#closed !== undefined || life !== this.#life) return child.stop();
        this.#spares.push(child);
        this.#serve();
      },
      onEnded: (end) => this.#ended(end),
      onGone: (exit) => this.#gone(exit),
    });
  }

  #serve(): void {
    while (this.#orders.length > 0 && this.#spares.length > 0) this.#orders.shift()!.onBorn(this.#spares.shift()!);
    this.#refill();
  }

  #refill(): void {
    if (!this.#up || this.#closed !== undefined) return;
    const missing = this.#orders.length + this.#options.spares - this.#spares.length - this.#asked.size;
    for (let i = 0; i < missing; i++) {
      const token = this.#options.token();
      this.#asked.add(token);
      this.#parent?.fork(token);
    }
  }

  #ended(end: Ended): void {
    const child = this.#children.get(end.token);
    if (child !== undefined) return child.ended(end);
    if (!this.#asked.delete(end.token)) return;
    // It could not be forked, or ended before its hello. The next order tries again.
    this.#options.forget(end.token);
    const { code, signal, message } = end;
    this.#fail({ code, signal, lastWords: message === "" ? [] : [message] });
  }

  /** Fails the order that waits longest. */
  #fail(exit: WorkerExit): void {
    this.#orders.shift()?.onFailed(exit);
  }

  #gone(exit: WorkerExit): void {
    const wasUp = this.#up;
    this.#parent = undefined;
    this.#up = false;
    for (const token of this.#asked) this.#options.forget(token);
    this.#asked.clear();
    const children = [...this.#children.values()];
    const orders = this.#orders.splice(0);
    for (const child of children) child.orphaned();
    for (const child of this.#spares.splice(0)) child.stop();
    clearTimeout(this.#late);
    this.#closing?.();
    if (wasUp && this.#closed === undefined) this.#options.onLost(exit, children.length);
    for (const order of orders) order.onFailed(exit);
  }
}
