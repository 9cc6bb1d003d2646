import { CoreError } from "../../../core/error.ts";
import type { ExecutionLease, ExecutionPool, ExecutionWaiter } from "../execution_pool.ts";
import type { WorkerRestart } from "./restarts.ts";
import { type Clock, systemClock } from "../fastcgi/clock.ts";
import { Alarm } from "./alarm.ts";
import { Boots, type Generation } from "./boots.ts";
import type { Launch, WorkerExit, WorkerRequest } from "./handle.ts";
import { Life } from "./life.ts";
import type { WorkerLease } from "./lease.ts";
import { Member, type MemberOwner } from "./member.ts";
import type { WorkerPoolOptions, WorkerRow } from "./options.ts";
import { Permits } from "./permits.ts";
import { bootError, poolClosed } from "./report.ts";
import { Roll } from "./roll.ts";
import { proofMs } from "./rules.ts";
import { type Scaled, Scaler } from "./scaler.ts";

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
  readonly #owner: MemberOwner;
  readonly #alarm: Alarm;
  readonly #scaler: Scaler | undefined;
  readonly #spares: number;
  readonly #surge: number;
  readonly #members = new Set<Member>();
  /** Members that can be lent, the one idle for longest first. Never any while someone waits. */
  readonly #idle: Member[] = [];
  readonly #waiters = new Set<ExecutionWaiter<WorkerRequest>>();
  readonly #leases = new Set<WorkerLease>();
  readonly #permits = new Permits();
  readonly #restarts: Partial<Record<WorkerRestart, number>> = {};
  #generation: Generation;
  #size: number;
  /** Permits the gate has. */
  #granted: number;
  #executions = 0;
  #problem: CoreError | undefined;
  #roll: Roll | undefined;
  #nextRoll: Roll | undefined;
  #closed: (() => void)[] | undefined;
  #acting = false;
  #actAgain = false;

  constructor(options: WorkerPoolOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#size = this.#granted = Math.max(1, options.size);
    this.#spares = options.spares ?? 0;
    this.#surge = Math.max(options.surge ?? 0, this.#spares + 1);
    this.#generation = this.#newGeneration(options.launch);
    this.#alarm = new Alarm(this.#clock, (now) => {
      for (const member of this.#members) member.ring(now);
      this.#act();
    });
    this.#owner = this.#asOwner();
    this.#scaler = options.scale && new Scaler(options.scale, this.#size, this.#asScaled(), this.#clock);
  }

  /** Begins to boot workers. */
  start(): void {
    this.#act();
  }

  /** Lends the worker that has been idle for longest, so that all keep their connections warm; undefined when none is idle. */
  checkout(): ExecutionLease<WorkerRequest> | undefined {
    for (;;) {
      const member = this.#idle.shift();
      if (member === undefined) return undefined;
      if (member.answers()) return this.#lend(member);
    }
  }

  /** Lends a worker as soon as there is one. While none boots any more, waiters are refused with the reason. */
  wait(waiter: ExecutionWaiter<WorkerRequest>): void {
    if (this.#closed !== undefined) return waiter.onRefuse(poolClosed());
    const lease = this.checkout();
    if (lease !== undefined) return waiter.onLease(lease);
    if (this.#down) return waiter.onRefuse(this.#problem!);
    this.#waiters.add(waiter);
  }

  cancel(waiter: ExecutionWaiter<WorkerRequest>): boolean {
    return this.#waiters.delete(waiter);
  }

  /** Changes the number of workers: the gate is told of fewer at once, of more when they are ready. */
  resize(size: number): void {
    if (this.#closed !== undefined) return;
    this.#size = Math.max(1, size);
    if (this.#size < this.#granted) this.#grant(this.#size);
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
    const roll = new Roll(this.#newGeneration(launch));
    if (this.#roll === undefined) {
      this.#roll = roll;
      this.#act();
    } else {
      // Who asked for the one in between is content with what comes after it.
      const before = this.#nextRoll;
      if (before !== undefined) roll.done.then(() => before.resolve(), (error: CoreError) => before.reject(error));
      this.#nextRoll = roll;
    }
    return roll.done;
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
    this.#roll?.reject(poolClosed());
    this.#nextRoll?.reject(poolClosed());
    this.#roll = this.#nextRoll = undefined;
    for (const member of [...this.#members]) {
      if (member.state === "booting" || !graceful) member.end(undefined, poolClosed());
      else if (member.state === "idle") member.stop(undefined);
    }
    this.#refuseWaiters(poolClosed());
    this.#act();
    if (this.#members.size === 0) return Promise.resolve();
    return new Promise((resolve) => closed.push(resolve));
  }

  problem(): string | undefined {
    if (this.alive > 0) return undefined;
    if (this.#closed !== undefined) return "The PHP pool is closed";
    return this.#problem?.message ?? "PHP is starting";
  }

  get size(): number {
    return this.#size;
  }

  get alive(): number {
    return this.#count((member) => member.serving);
  }

  get busy(): number {
    return this.#count((member) => member.state === "busy");
  }

  get waiting(): number {
    return this.#waiters.size;
  }

  /** Leases that are over. */
  get executions(): number {
    return this.#executions;
  }

  get restarts(): Readonly<Partial<Record<WorkerRestart, number>>> {
    return this.#restarts;
  }

  /** Processes there are, ending ones included. */
  get processes(): number {
    return this.#members.size;
  }

  /** Boots that failed in a row. */
  get bootFailures(): number {
    return this.#generation.boots.failures;
  }

  /** The processes of this moment. Looks at each in /proc: not for hot paths. */
  rows(): readonly WorkerRow[] {
    const now = this.#clock.now();
    return [...this.#members].map((member): WorkerRow => ({
      pid: member.pid,
      state: member.state as WorkerRow["state"],
      due: member.reason ?? member.due,
      requests: member.requests,
      uptime: now - member.bornAt,
      rss: member.pid === 0 ? undefined : this.#options.inspect?.(member.pid)?.rss,
      id: member.current?.x.id,
      target: member.current?.x.target,
    }));
  }

  #count(has: (member: Member) => boolean): number {
    let count = 0;
    for (const member of this.#members) if (has(member)) count++;
    return count;
  }

  #newGeneration(launch: Launch): Generation {
    return { launch, boots: new Boots(this.#options, this.#random), born: 0 };
  }

  /** Nothing answers, and nothing is about to. */
  get #down(): boolean {
    return this.#problem !== undefined && this.#generation.boots.open && this.alive === 0;
  }

  #lend(member: Member): WorkerLease {
    const lease = member.lend();
    this.#leases.add(lease);
    this.#scaler?.lent();
    return lease;
  }

  #enter(member: Member): void {
    for (const waiter of this.#waiters) {
      this.#waiters.delete(waiter);
      return waiter.onLease(this.#lend(member));
    }
    member.rest();
    this.#idle.push(member);
  }

  #refuseWaiters(error: CoreError): void {
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const waiter of waiters) waiter.onRefuse(error);
  }

  #grant(size: number): void {
    this.#granted = size;
    this.#options.onSize?.(size);
  }

  readonly #mayPay = (): boolean =>
    this.#closed !== undefined ||
    this.#idle.length > this.#granted - this.#leases.size - this.#waiters.size - this.#permits.owed;

  #asOwner(): MemberOwner {
    return {
      onLeaseOver: (lease, onFree) => {
        this.#leases.delete(lease);
        this.#executions++;
        if (onFree !== undefined) this.#permits.owe(onFree);
      },
      afterLease: () => this.#act(),
      onBooted: (member) => this.#booted(member),
      onFreed: (member) => this.#freed(member),
      onLeft: (member, reason) => this.#left(member, reason),
      onChange: () => this.#act(),
      onProof: (member) => {
        if (member.generation.boots.failures === 0) return;
        member.generation.boots.proved();
        this.#act();
      },
      onGone: (member, exit) => this.#gone(member, exit),
      onLine: (member, text) => this.#options.onLine?.(member.pid, text, member.current),
      wake: (at) => this.#alarm.at(at),
    };
  }

  #asScaled(): Scaled {
    const { size, missing, idle } = {
      size: () => this.#size,
      missing: () => Math.max(0, this.#size - this.#count((member) => member.usable)),
      idle: () => this.#idle.length - this.#spares,
    };
    return {
      get size() {
        return size();
      },
      get missing() {
        return missing();
      },
      get idle() {
        return idle();
      },
      resize: (to) => this.resize(to),
    };
  }

  #booted(member: Member): void {
    const { generation } = member;
    // Those that start together would end together.
    const share = Math.min(1, ++generation.born / this.#size);
    member.life = new Life(this.#options, share, this.#random());
    this.#problem = undefined;
    if (this.#roll?.generation === generation && !this.#roll.committed) this.#commit(this.#roll);
    this.#enter(member);
    this.#act();
  }

  #freed(member: Member): void {
    if (this.#closed !== undefined) member.stop(undefined);
    else if (member.last) member.stop(member.due ?? "asked");
    else {
      member.look(this.#clock.now());
      if (member.due !== undefined && this.#surplus > 0) member.stop(member.due);
      else this.#enter(member);
    }
    this.#act();
  }

  /** Usable workers beyond those that are wanted. */
  get #surplus(): number {
    return this.#count((member) => member.usable) - this.#size - this.#spares;
  }

  #left(member: Member, reason: WorkerRestart | undefined): void {
    const place = this.#idle.indexOf(member);
    if (place >= 0) this.#idle.splice(place, 1);
    if (reason === undefined) return;
    this.#restarts[reason] = (this.#restarts[reason] ?? 0) + 1;
    this.#options.onRestart?.(reason);
    // One that was ready and ends by itself at once, having answered nothing, would do so again and again.
    const now = this.#clock.now();
    const barren = (member.crashed || reason === "asked") && !member.proven && now - member.readyAt < proofMs;
    if (reason === "boot_failed" || barren) member.generation.boots.failed(now);
  }

  #gone(member: Member, exit: WorkerExit | undefined): void {
    this.#members.delete(member);
    if (member.crashed) this.#options.onCrash?.(member.report(exit));
    if (this.#closed === undefined && member.generation.boots.failures > 0) {
      const error = bootError(exit, member.error);
      if (member.generation === this.#generation) this.#problem = error;
      const roll = this.#roll;
      if (roll?.generation === member.generation && roll.givesUp(member.timedOut)) {
        roll.reject(error);
        this.#endRoll(roll);
      }
      if (this.#down) this.#refuseWaiters(error);
    }
    this.#act();
  }

  /** The new generation boots: from now on the pool is its. */
  #commit(roll: Roll): void {
    roll.committed = true;
    this.#generation = roll.generation;
    for (const member of [...this.#members]) {
      if (member.generation === roll.generation) continue;
      if (member.state === "booting") member.end("reload");
      else if (member.serving) member.due = "reload";
    }
  }

  #endRoll(roll: Roll): void {
    this.#roll = this.#nextRoll;
    this.#nextRoll = undefined;
    if (roll.committed) return;
    for (const member of [...this.#members]) {
      if (member.generation === roll.generation) member.end("reload");
    }
  }

  /** Does whatever the state of the pool asks for, until it asks for nothing. */
  #act(): void {
    this.#actAgain = true;
    if (this.#acting) return;
    this.#acting = true;
    while (this.#actAgain) {
      this.#actAgain = false;
      if (this.#closed === undefined) {
        this.#growGate();
        this.#stopSurplus();
        this.#turnRoll();
        this.#boot();
      }
      this.#permits.pay(this.#mayPay);
    }
    this.#acting = false;
    if (this.#closed === undefined || this.#members.size > 0) return;
    this.#alarm.clear();
    for (const resolve of this.#closed.splice(0)) resolve();
  }

  #growGate(): void {
    if (this.#granted === this.#size) return;
    const size = Math.min(this.#size, this.#count((member) => member.usable));
    if (size > this.#granted) this.#grant(size);
  }

  /** Stops the idle worker whose successor is ready, or one too many. */
  #stopSurplus(): void {
    for (let surplus = this.#surplus; surplus > 0; surplus--) {
      const due = this.#idle.find((member) => member.due !== undefined);
      const member = due ?? (this.#count((one) => one.usable && one.due !== undefined) > 0 ? undefined : this.#idle[0]);
      if (member === undefined) return;
      member.stop(member.due ?? "idle");
    }
  }

  #turnRoll(): void {
    const roll = this.#roll;
    if (roll === undefined || !roll.committed) return;
    const old = [...this.#members].filter((member) => member.usable && member.generation !== roll.generation);
    if (old.length === 0) {
      roll.resolve();
      this.#endRoll(roll);
      return this.#act();
    }
    if (this.#surplus <= 0) return void (roll.blockedSince = undefined);
    const now = this.#clock.now();
    const until = (roll.blockedSince ??= now) + (this.#options.reloadPatience ?? 5000);
    if (now < until) return this.#alarm.at(until);
    for (const member of old) member.final = true;
    this.#act();
  }

  #boot(): void {
    const roll = this.#roll;
    if (roll !== undefined && !roll.committed) this.#begin(roll.generation, 1 - this.#booting(roll.generation));
    const booting = this.#booting(this.#generation);
    const vacant = -this.#surplus - booting;
    const due = roll?.committed !== false && this.#count((member) => member.usable && member.due !== undefined) > 0;
    // One successor at a time: the next is booted when this one has taken its place.
    if (vacant > 0 || (vacant === 0 && booting === 0 && due)) this.#begin(this.#generation, Math.max(1, vacant));
  }

  #booting(generation: Generation): number {
    return this.#count((member) => member.state === "booting" && member.generation === generation);
  }

  #begin(generation: Generation, wanted: number): void {
    if (wanted <= 0) return;
    const { boots } = generation;
    const now = this.#clock.now();
    if (now < boots.notBefore) return this.#alarm.at(boots.notBefore);
    const booting = this.#booting(generation);
    const unproved = booting +
      this.#count((member) => member.serving && !member.proven && member.generation === generation);
    const places = this.#size + this.#surge - this.#members.size;
    for (let n = Math.min(wanted, places, boots.room(now, booting, unproved)); n > 0; n--) {
      const member = new Member(generation, this.#options, this.#owner, this.#clock);
      this.#members.add(member);
      member.boot();
    }
  }
}
