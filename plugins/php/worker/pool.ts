import { Alarm } from "../../../core/alarm.ts";
import { type Clock, systemClock } from "../../../core/clock.ts";
import { CoreError } from "../../../core/error.ts";
import type { ExecutionLease, ExecutionPool, ExecutionWaiter } from "../execution_pool.ts";
import type { WorkerRestart } from "./restarts.ts";
import { Desk } from "./desk.ts";
import type { Launch, WorkerExit, WorkerRequest } from "./handle.ts";
import { Life } from "./life.ts";
import type { Member } from "./member.ts";
import type { MemberOwner } from "./member_owner.ts";
import type { WorkerPoolOptions } from "./options.ts";
import { bootError, poolClosed } from "./report.ts";
import { Renewal } from "./renewal.ts";
import { rowOf, type WorkerRow } from "./rows.ts";
import { proofMs } from "./rules.ts";
import { type Scaled, Scaler } from "./scaler.ts";
import { Staff } from "./staff.ts";

/**
 * PHP processes that boot once and answer many requests. The line of requests is elsewhere: whoever comes here holds a permit
 * of a gate that has as many as there are workers ({@linkcode WorkerPoolOptions.onSize}).
 *
 * @example
 * ```ts
 * const pool = new WorkerPool({ launch, size: 4, maxRequests: 500, onSize: (size) => gate.resize(size) });
 * pool.start();
 * const lease = pool.checkout();
 * lease?.send(request, sink); // when sink.onEnd comes: lease.done(() => gate.leave())
 * await pool.reload(launchOfTheNewRelease);
 * await pool.close(true);
 * ```
 */
export class WorkerPool implements ExecutionPool<WorkerRequest> {
  readonly #options: WorkerPoolOptions;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #alarm: Alarm;
  readonly #staff: Staff;
  readonly #desk: Desk;
  readonly #renewal: Renewal;
  readonly #scaler: Scaler | undefined;
  readonly #restarts: Partial<Record<WorkerRestart, number>> = {};
  #problem: CoreError | undefined;
  #closed: (() => void)[] | undefined;
  #acting = false;
  #actAgain = false;
  /** Nothing is to be done about the workers themselves, and leases that begin and end do not change that. */
  #calm = false;

  constructor(options: WorkerPoolOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#alarm = new Alarm(this.#clock, () => {
      const now = this.#clock.now();
      for (const member of this.#staff) member.ring(now);
      this.#act();
    });
    this.#staff = new Staff(options, this.#asOwner(), this.#clock);
    this.#renewal = new Renewal(options, this.#random, this.#staff, this.#alarm);
    this.#desk = new Desk(this.#staff.wanted, () => this.#scaler?.lent());
    this.#scaler = options.scale && new Scaler(options.scale, this.#staff.wanted, this.#asScaled(), this.#clock);
  }

  /** Begins to boot workers. */
  start(): void {
    this.#act();
  }

  /** Lends the worker that has been idle for longest, so that all keep their connections warm; undefined when none is idle. */
  checkout(): ExecutionLease<WorkerRequest> | undefined {
    return this.#desk.checkout();
  }

  /** Lends a worker as soon as there is one. While none boots any more, waiters are refused with the reason. */
  wait(waiter: ExecutionWaiter<WorkerRequest>): void {
    if (this.#closed !== undefined) return waiter.onRefuse(poolClosed());
    const lease = this.checkout();
    if (lease !== undefined) return waiter.onLease(lease);
    if (this.#down) return waiter.onRefuse(this.#problem!);
    this.#desk.wait(waiter);
  }

  cancel(waiter: ExecutionWaiter<WorkerRequest>): boolean {
    return this.#desk.cancel(waiter);
  }

  /** Changes the number of workers: the gate is told of fewer at once, of more when they are ready. */
  resize(size: number): void {
    if (this.#closed !== undefined) return;
    const wanted = this.#staff.wanted = Math.max(1, size);
    if (wanted < this.#desk.granted) this.#grant(wanted);
    this.#act();
  }

  /**
   * Replaces every worker by one of the new launch, one by one, each new one ready before an old one stops. Until the first
   * new one is ready nothing changes; when it does not boot (three failures, or one timeout), the old ones stay. A reload that
   * comes during another follows it; of several that wait only the last is done.
   *
   * @returns a promise that resolves when no old worker takes a request any more, and rejects with `PHP_WORKER_BOOT` when a
   * new worker does not boot, or with `PHP_POOL_CLOSED`
   */
  reload(launch: Launch): Promise<void> {
    if (this.#closed !== undefined) return Promise.reject(poolClosed());
    const done = this.#renewal.reload(launch);
    this.#act();
    return done;
  }

  /**
   * Refuses waiters and asks idle workers to end; those at work when they are done, or all are ended at once when not
   * `graceful`: then running requests fail with `PHP_POOL_CLOSED` (503). May be called again to hurry.
   *
   * @returns a promise that resolves when no process is left
   */
  close(graceful: boolean): Promise<void> {
    const closed = this.#closed ??= [];
    this.#scaler?.close();
    this.#renewal.close(poolClosed());
    for (const member of [...this.#staff]) {
      if (member.state === "booting" || !graceful) member.end(undefined, poolClosed());
      else if (member.state === "idle") member.stop(undefined);
    }
    this.#desk.refuse(poolClosed());
    this.#act();
    if (this.#staff.size === 0) return Promise.resolve();
    return new Promise((resolve) => closed.push(resolve));
  }

  problem(): string | undefined {
    if (this.alive > 0) return undefined;
    if (this.#closed !== undefined) return "The PHP pool is closed";
    return this.#problem?.message ?? "PHP is starting";
  }

  get size(): number {
    return this.#staff.wanted;
  }

  get alive(): number {
    return this.#staff.count((member) => member.serving);
  }

  get busy(): number {
    return this.#staff.count((member) => member.state === "busy");
  }

  get waiting(): number {
    return this.#desk.waiting;
  }

  /** Leases that are over. */
  get executions(): number {
    return this.#desk.executions;
  }

  get restarts(): Readonly<Partial<Record<WorkerRestart, number>>> {
    return this.#restarts;
  }

  /** Processes there are, ending ones included. */
  get processes(): number {
    return this.#staff.size;
  }

  /** Boots that failed in a row. */
  get bootFailures(): number {
    return this.#renewal.generation.boots.failures;
  }

  /** Whether workers of this launch take requests, or are to be booted. */
  uses(launch: Launch): boolean {
    return this.#renewal.wants(launch) ||
      this.#staff.count((member) =>
          member.generation.launch === launch && (member.usable || member.state === "booting")
        ) > 0;
  }

  /** The processes of this moment. Looks at each in /proc: not for hot paths. */
  rows(): readonly WorkerRow[] {
    const now = this.#clock.now();
    return [...this.#staff].map((member) => rowOf(member, now, this.#options.inspect));
  }

  /** Nothing answers, and nothing is about to. */
  get #down(): boolean {
    return this.#problem !== undefined && this.#renewal.generation.boots.open && this.alive === 0;
  }

  #grant(size: number): void {
    this.#desk.granted = size;
    this.#options.onSize?.(size);
  }

  #asOwner(): MemberOwner {
    return {
      onLeaseOver: (onFree) => this.#desk.over(onFree),
      afterLease: () => this.#turn(),
      onBooted: (member) => this.#booted(member),
      onFreed: (member) => this.#freed(member),
      onLeft: (member, reason) => this.#left(member, reason),
      onChange: () => this.#act(),
      canSpare: (member) =>
        this.#staff.surplus > 0 ||
        (this.#renewal.generation.boots.failures === 0 && this.#staff.count((one) => one !== member && one.usable) > 0),
      onProof: (member) => {
        if (member.generation.boots.failures === 0) return;
        member.generation.boots.proved();
        this.#act();
      },
      onGone: (member, exit) => this.#gone(member, exit),
      onLine: (member, text) => this.#options.onLine?.(member.pid, text, member.current),
      wake: (at) => this.#alarm.by(at),
    };
  }

  #asScaled(): Scaled {
    const staff = this.#staff;
    const desk = this.#desk;
    return {
      get size() {
        return staff.wanted;
      },
      get missing() {
        return Math.max(0, staff.wanted - staff.usable);
      },
      get idle() {
        return desk.idle.length - staff.spares;
      },
      resize: (to) => this.resize(to),
    };
  }

  #booted(member: Member): void {
    const { generation } = member;
    // Those that start together would end together.
    const share = Math.min(1, ++generation.born / this.#staff.wanted);
    member.life = new Life(this.#options, share, this.#random());
    this.#problem = undefined;
    this.#renewal.booted(member);
    this.#desk.enter(member, this.#clock.now());
    this.#act();
  }

  #freed(member: Member): void {
    this.#options.onFreed?.(member.pid);
    if (this.#closed !== undefined) member.stop(undefined);
    else if (member.last || member.spent) member.stop(member.due ?? "asked");
    else {
      const now = this.#clock.now();
      member.look(now);
      if (member.due === undefined) {
        this.#desk.enter(member, now);
        return this.#turn();
      }
      if (this.#staff.surplus > 0) member.stop(member.due);
      else this.#desk.enter(member, now);
    }
    this.#act();
  }

  #left(member: Member, reason: WorkerRestart | undefined): void {
    this.#desk.remove(member);
    if (reason === undefined) return;
    this.#restarts[reason] = (this.#restarts[reason] ?? 0) + 1;
    this.#options.onRestart?.(reason);
    // One that was ready and ends by itself at once would do so again and again. Not so when a request has ended it: the next
    // one may be another.
    const now = this.#clock.now();
    const idle = !member.proven && member.requests === 0 && now - member.readyAt < proofMs;
    const barren = idle && (member.crashed || reason === "asked");
    if (reason === "boot_failed" || barren) member.generation.boots.failed(now);
  }

  #gone(member: Member, exit: WorkerExit | undefined): void {
    this.#staff.remove(member);
    this.#options.onFreed?.(member.pid);
    if (member.crashed) this.#options.onCrash?.(member.report(exit));
    if (this.#closed === undefined && member.generation.boots.failures > 0) {
      const error = bootError(exit, member.error);
      if (member.generation === this.#renewal.generation) this.#problem = error;
      this.#renewal.failed(member, error);
      if (this.#down) this.#desk.refuse(error);
    }
    this.#act();
  }

  /** Something has changed of the workers: does whatever that asks for. */
  #act(): void {
    this.#calm = false;
    this.#turn();
  }

  /** Does whatever the state of the pool asks for, until it asks for nothing. */
  #turn(): void {
    this.#actAgain = true;
    if (this.#acting) return;
    this.#acting = true;
    try {
      while (this.#actAgain) {
        this.#actAgain = false;
        if (this.#closed === undefined && !this.#calm) {
          this.#growGate();
          this.#stopSpent();
          this.#stopSurplus();
          this.#renewal.act(this.#clock.now());
          // Where they changed what they had looked at, it is looked at again.
          this.#calm = !this.#actAgain && this.#isWhole;
        }
        this.#desk.pay(this.#closed !== undefined);
      }
    } finally {
      this.#acting = false;
    }
    if (this.#closed === undefined || this.#staff.size > 0) return;
    this.#alarm.off();
    for (const resolve of this.#closed.splice(0)) resolve();
  }

  get #isWhole(): boolean {
    return this.#desk.granted === this.#staff.wanted && this.#staff.surplus === 0 && this.#renewal.calm;
  }

  #growGate(): void {
    const { wanted } = this.#staff;
    if (this.#desk.granted === wanted) return;
    const size = Math.min(wanted, this.#staff.usable);
    if (size > this.#desk.granted) this.#grant(size);
  }

  /** Stops idle workers that could not be spared when they had had their last request. */
  #stopSpent(): void {
    for (const member of [...this.#desk.idle]) if (member.spent) member.stop(member.due);
  }

  /** Stops the idle worker whose successor is ready, or one too many. */
  #stopSurplus(): void {
    for (let { surplus } = this.#staff; surplus > 0; surplus--) {
      const { idle } = this.#desk;
      const due = idle.find((member) => member.due !== undefined);
      const member = due ?? (this.#staff.anyDue ? undefined : idle[0]);
      if (member === undefined) return;
      member.stop(member.due ?? "idle");
    }
  }
}
