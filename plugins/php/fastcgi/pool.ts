import { CoreError } from "../../../core/error.ts";
import { Child, type ChildOptions, type ChildRow, type RestartReason } from "./child.ts";
import { systemClock } from "../../../core/clock.ts";
import { Lease } from "./lease.ts";

export interface PoolOptions extends ChildOptions {
  /** Children to hold: as many as php-fpm has (`pm = static`), so that php-fpm itself never queues. */
  readonly size: number;
  /** A child is replaced. It must not throw. */
  readonly onRestart?: (reason: RestartReason) => void;
}

/** Someone who waits for a child. */
export interface LeaseWaiter {
  /** Called once, with a child that is this waiter's. It must not throw; it may call the pool. */
  onLease(lease: Lease): void;
  /** Called once instead, when the pool closes. */
  onRefuse(error: CoreError): void;
}

/**
 * One keep-alive connection to each of `size` php-fpm children. The line of requests is elsewhere: whoever comes here
 * holds a permit, so a child is idle for him, unless it is just being replaced.
 *
 * @example
 * ```ts
 * const pool = new ChildPool({
 *   size: 8,
 *   connect: (signal) => connect({ path: "/run/php.sock" }, signal),
 *   greet: greeting([encodeParams([["REQUEST_METHOD", "GET"], ["SCRIPT_FILENAME", "/srv/pid.php"]])]),
 *   killChild: (pid) => process.kill(pid, "SIGKILL"),
 * });
 * pool.start();
 * const lease = pool.checkout();
 * lease?.send({ params }, { onStdout, onStderr, onEnd: () => lease.done(), onFail: () => lease.done() });
 * ```
 */
export class ChildPool {
  readonly #options: PoolOptions;
  readonly #places = new Set<Child>();
  /** Idle children, the one idle for longest first. Never any while someone waits. */
  readonly #idle: Child[] = [];
  readonly #waiters = new Set<LeaseWaiter>();
  readonly #restarts: Record<RestartReason, number> = { died: 0, killed: 0, max_requests: 0, timeout: 0 };
  #size: number;
  #executions = 0;
  #problem: CoreError | undefined;
  #closed: (() => void)[] | undefined;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#size = options.size;
  }

  /** Begins to connect. */
  start(): void {
    this.resize(this.#size);
  }

  /**
   * Lends the child that has been idle for longest; undefined when none is idle. The one used last may still be at work:
   * after `fastcgi_finish_request` (which Symfony and Laravel call for every response) the protocol does not tell.
   */
  checkout(): Lease | undefined {
    const child = this.#idle.shift();
    return child === undefined ? undefined : lend(child);
  }

  /** Lends a child as soon as there is one, at once when one is idle. Waiters are served in order of arrival. */
  wait(waiter: LeaseWaiter): void {
    if (this.#closed !== undefined) return waiter.onRefuse(closing());
    const lease = this.checkout();
    if (lease !== undefined) waiter.onLease(lease);
    else this.#waiters.add(waiter);
  }

  /** Leaves the line; true when the waiter was in it. No callback follows. */
  cancel(waiter: LeaseWaiter): boolean {
    return this.#waiters.delete(waiter);
  }

  /** Tells that a process is known to have ended, which frees its place before the successor is up. */
  childGone(pid: number): void {
    for (const child of this.#places) child.childGone(pid);
  }

  /** Changes the number of children: more at once, fewer as they become idle. */
  resize(size: number): void {
    if (this.#closed !== undefined) return;
    this.#size = size;
    while (this.#places.size < size) this.#add();
    for (const child of [...this.#places].reverse()) {
      if (this.#places.size <= size) return;
      if (child.state !== "busy") child.close();
    }
  }

  /**
   * Refuses waiters and closes idle connections; busy ones when they are done, or at once when not `graceful`: then their
   * requests fail with `PHP_POOL_CLOSED` (503). The processes are left to whoever owns php-fpm.
   *
   * @returns a promise that resolves when no connection is left
   */
  close(graceful: boolean): Promise<void> {
    const closed = this.#closed ??= [];
    this.#size = 0;
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const child of [...this.#places]) if (!graceful || child.state !== "busy") child.close(closing());
    for (const waiter of waiters) waiter.onRefuse(closing());
    if (this.#places.size === 0) return Promise.resolve();
    return new Promise((resolve) => closed.push(resolve));
  }

  /** Why no request can be executed, for `/readyz`; undefined when at least one child can. */
  problem(): string | undefined {
    if (this.alive > 0) return undefined;
    return this.#problem?.message ?? (this.#closed ? "The PHP pool is closed" : "PHP is starting");
  }

  /** Children wanted. */
  get size(): number {
    return this.#size;
  }

  /** Children that have been greeted: idle and busy. */
  get alive(): number {
    return this.#count("idle") + this.#count("busy");
  }

  /** Children lent. */
  get busy(): number {
    return this.#count("busy");
  }

  /** Waiters in line. */
  get waiting(): number {
    return this.#waiters.size;
  }

  /** Leases that were done, whatever became of their requests. */
  get executions(): number {
    return this.#executions;
  }

  /** Children replaced, by reason. */
  get restarts(): Readonly<Record<RestartReason, number>> {
    return this.#restarts;
  }

  /** The children that have been greeted. */
  rows(): readonly ChildRow[] {
    return [...this.#places].map((child) => child.row).filter((row) => row !== undefined);
  }

  #count(state: Child["state"]): number {
    let count = 0;
    for (const child of this.#places) if (child.state === state) count++;
    return count;
  }

  #add(): void {
    const child = new Child(this.#options, {
      onReady: (ready) => this.#offer(ready),
      onIdleLost: (lost) => void this.#idle.splice(this.#idle.indexOf(lost), 1),
      onRestart: (reason) => {
        this.#restarts[reason]++;
        this.#options.onRestart?.(reason);
      },
      onExecuted: () => void this.#executions++,
      onProblem: (error) => void (this.#problem = error),
      surplus: () => this.#places.size > this.#size,
      onGone: (gone) => this.#forget(gone),
    }, this.#options.clock ?? systemClock);
    this.#places.add(child);
    child.open();
  }

  #offer(child: Child): void {
    for (const waiter of this.#waiters) {
      this.#waiters.delete(waiter);
      return waiter.onLease(lend(child));
    }
    child.state = "idle";
    this.#idle.push(child);
  }

  #forget(child: Child): void {
    this.#places.delete(child);
    if (this.#places.size > 0 || this.#closed === undefined) return;
    for (const resolve of this.#closed) resolve();
    this.#closed = [];
  }
}

function lend(child: Child): Lease {
  child.state = "busy";
  return new Lease(child);
}

function closing(): CoreError {
  return new CoreError("PHP_POOL_CLOSED", "The PHP pool is closing; try again", { status: 503 });
}
