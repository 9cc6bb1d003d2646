import { CoreError } from "../../../core/error.ts";
import type { Progress } from "../fastcgi/handler.ts";
import type { WorkerRestart } from "./restarts.ts";
import type { Clock } from "../../../core/clock.ts";
import type { ReplySink } from "../reply_sink.ts";
import type { Generation } from "./boots.ts";
import { Guard, type GuardOwner } from "./guard.ts";
import type { Kept, Worker, WorkerEvents, WorkerExit, WorkerRequest } from "./handle.ts";
import { WorkerLease } from "./lease.ts";
import type { Life, LifeFacts } from "./life.ts";
import type { MemberOwner, MemberState } from "./member_owner.ts";
import { bootTimeout, outOfMemory, readyTooSoon, workerDied, type WorkerReport, workerStuck } from "./report.ts";
import { idleLookMs, type MemberRules, proofMs, raceMs, staleMs, unkillableMs } from "./rules.ts";

/** One process of the pool, from its launch to its end. It never comes back: a successor is another member. */
export class Member implements WorkerEvents, GuardOwner, LifeFacts {
  readonly generation: Generation;
  readonly bornAt: number;
  readonly #rules: MemberRules;
  readonly #owner: MemberOwner;
  readonly #clock: Clock;
  #worker: Worker | undefined;
  state: MemberState = "booting";
  lease: WorkerLease | undefined;
  life: Life | undefined;
  /** Why it should be replaced once its successor is up. */
  due: WorkerRestart | undefined;
  /** It takes no request after the one it runs. */
  final = false;
  /** It has said that it will end, and not since that it is ready. */
  #leaving = false;
  /** Why it left; undefined while it serves, and when the pool closed. */
  reason: WorkerRestart | undefined;
  /** It ended as no worker should. */
  crashed = false;
  error: CoreError | undefined;
  timedOut = false;
  proven = false;
  readyAt = 0;
  bootMs = 0;
  requests = 0;
  idleSince = 0;
  /** It was ready before its launch returned. */
  #early = false;
  /** Whether it can take a request. */
  #ready = false;
  /** It is in service no more. */
  #left = false;
  #cancelled = false;
  #paused = false;
  /** Of the last request, until the worker is ready again. */
  #running: Guard | undefined;
  #sent: WorkerRequest | undefined;
  #sentAt = 0;
  /** Held while its script may read it: longer than the response takes. */
  #kept: Kept | undefined;
  /** When it is looked at. */
  #until = Infinity;
  /** When what it does for nobody any more must have ended. */
  #endBy = Infinity;

  constructor(generation: Generation, rules: MemberRules, owner: MemberOwner, clock: Clock) {
    this.generation = generation;
    this.#rules = rules;
    this.#owner = owner;
    this.#clock = clock;
    this.bornAt = clock.now();
  }

  get pid(): number {
    return this.#worker?.pid ?? 0;
  }

  /** It takes no request after the one it runs, or none at all. */
  get last(): boolean {
    return this.final || this.#leaving;
  }

  /** It can be lent, now or after what it does. */
  get usable(): boolean {
    return (this.state === "idle" || this.state === "busy") && !this.last;
  }

  /** It has had as many requests as it may, and others can take the next ones. */
  get spent(): boolean {
    return this.requests >= this.life!.hard && this.#owner.canSpare(this);
  }

  get serving(): boolean {
    return this.state === "idle" || this.state === "busy";
  }

  /** The last request it was sent. */
  get sent(): WorkerRequest | undefined {
    return this.#sent;
  }

  /** The request it runs. */
  get current(): WorkerRequest | undefined {
    return this.state === "busy" && !this.#ready ? this.#sent : undefined;
  }

  boot(): void {
    const timeout = this.#rules.bootTimeout ?? 30_000;
    this.#wait(this.bornAt + timeout);
    try {
      this.#worker = this.generation.launch(this);
    } catch (cause) {
      const text = cause instanceof Error ? cause.message : String(cause);
      return this.onExit({ code: null, signal: null, lastWords: [text] });
    }
    if (this.state === "killed") this.#worker.kill();
    else if (this.#early) this.onReady();
  }

  /** Whether an idle worker can be lent; ends one that will not answer. */
  answers(): boolean {
    const { inspect } = this.#rules;
    if (inspect === undefined || this.#clock.now() - this.idleSince < staleMs) return true;
    if (!inspect(this.pid)?.stopped) return true;
    this.end("stuck", workerStuck());
    return false;
  }

  lend(): WorkerLease {
    const now = this.#clock.now();
    this.state = "busy";
    this.#wait(this.#proofAt);
    if (this.life!.nearsEnd(this, now)) this.due ??= "max_requests";
    const { hard } = this.life!;
    // One that works is worth more than the limit, while no other would; but who answers one request only shall do just that.
    if (this.requests + 1 >= hard && (hard === 1 || this.#owner.canSpare(this))) this.final = true;
    return this.lease = new WorkerLease(this, this.#owner);
  }

  /** Nobody needs it now. */
  rest(now: number): void {
    this.state = "idle";
    this.idleSince = now;
    this.#waitIdle(now);
  }

  send(request: WorkerRequest, sink: ReplySink): void {
    if (!this.#ready) {
      const text = "Expected a worker that is ready; wait for onReady before each request";
      throw new CoreError("PHP_WORKER_BUSY", text, { status: 500 });
    }
    const guard = new Guard(sink, this);
    this.#ready = false;
    this.#cancelled = false;
    this.#running = guard;
    this.#sent = request;
    this.#kept = request.kept;
    this.#kept?.hold();
    this.requests++;
    this.#sentAt = this.#clock.now();
    this.#watch(this.#sentAt);
    try {
      this.#worker!.send(request, guard);
    } catch (cause) {
      if (this.#running !== guard || guard.over) return;
      const error = CoreError.at("php", "worker", cause);
      if (error !== cause) return this.end("killed", error);
      this.#ready = true;
      this.#running = undefined;
      this.#letGo();
      this.requests--;
      guard.onFail(error, "unsent");
    }
    // Its successor may boot while it runs its last request, but not before that is on its way.
    if (this.due !== undefined || this.last) this.#owner.onChange();
  }

  pause(): void {
    this.#paused = true;
    this.#worker!.pause();
  }

  resume(): void {
    this.#paused = false;
    this.#worker!.resume();
  }

  /** Its lease is over, the response with it. */
  finish(): void {
    if (this.#ready) return this.#owner.onFreed(this);
    if (!this.#running!.over) return this.end("killed");
    // It works on behind the response (`fastcgi_finish_request`): its time is that of the request.
    if (this.#running!.heard) this.#prove();
    this.#readOn();
    this.#workOn(this.#sent!.x.deadline);
  }

  /** Its lease is over, and nobody waits for the response. */
  hangUp(): void {
    if (this.#ready) return this.#owner.onFreed(this);
    const { begun = 1000, silent = Infinity } = this.#rules.cancelGrace ?? {};
    const running = this.#running!;
    const grace = running.over ? Infinity : running.heard ? begun : silent;
    this.#workOn(Math.min(this.#sent!.x.deadline, this.#clock.now() + grace));
    if (!running.over) {
      this.#cancelled = true;
      running.cut();
      this.#readOn();
      this.#worker!.cancel();
    }
  }

  /** Asks an idle worker to end. */
  stop(reason: WorkerRestart | undefined): void {
    this.#leave("stopping", reason);
    this.#wait(this.#clock.now() + (this.#rules.stopGrace ?? 10_000));
    this.#worker!.stop();
    this.#owner.onChange();
  }

  /** Ends the process at once. With an error it is a crash, and the sink of a running request hears it. */
  end(reason: WorkerRestart | undefined, error?: CoreError, progress: Progress = "touched"): void {
    if (this.state === "killed" || this.state === "gone") return;
    const running = this.#running;
    if (!this.#left) {
      this.error = error;
      this.crashed = error !== undefined && reason !== undefined;
    }
    this.#leave("killed", reason);
    this.#wait(this.#clock.now() + unkillableMs);
    this.#worker?.kill();
    if (error === undefined) running?.cut();
    else running?.onFail(error, progress);
    this.#owner.onChange();
  }

  /** Looks at what it waits for. */
  ring(now: number): void {
    if (this.#until > now) return this.#owner.wake(this.#until);
    this.#until = Infinity;
    if (this.serving && now >= this.readyAt + proofMs) this.#prove();
    if (this.state === "booting") {
      this.timedOut = true;
      this.end("boot_failed", bootTimeout(this.#rules.bootTimeout ?? 30_000));
    } else if (this.state === "idle") {
      if (this.#limitsMemory && this.#overHard(this.#rules.inspect?.(this.pid)?.rss)) return;
      this.look(now);
      this.#waitIdle(now);
      this.#owner.onChange();
    } else if (this.state === "busy") {
      if (this.lease === undefined && now >= this.#endBy) this.end(this.#cancelled ? "killed" : "timeout");
      else this.#inspect(now);
    } else if (this.state === "stopping") {
      this.end(this.reason);
    } else if (this.state === "killed") {
      this.state = "gone";
      this.#owner.onGone(this, undefined);
    }
  }

  /** Looks whether it should be replaced. */
  look(now: number): void {
    this.due ??= this.life!.due(this, now, () => this.#rules.inspect?.(this.pid)?.rss);
  }

  report(exit: WorkerExit | undefined): WorkerReport {
    const { pid, error, requests } = this;
    return {
      pid,
      reason: this.reason ?? "killed",
      exit,
      error,
      uptime: this.#clock.now() - this.bornAt,
      requests,
      lastTarget: this.#sent?.x.target,
      running: !this.#ready && this.#sent !== undefined,
    };
  }

  /** The sink of its request threw: the rest of the answer is for nobody. */
  onThrow(): void {
    if (!this.serving) return;
    this.#readOn();
    this.#worker!.cancel();
  }

  onReady(): void {
    if (this.state === "booting") {
      if (this.#worker === undefined) return void (this.#early = true);
      this.#ready = true;
      this.readyAt = this.#clock.now();
      this.bootMs = this.readyAt - this.bornAt;
      this.idleSince = this.readyAt;
      this.#leaving = false;
      return this.#owner.onBooted(this);
    }
    if (this.state !== "busy" || this.#ready) return;
    if (this.#running?.over === false) return this.end("died", readyTooSoon());
    this.#running = undefined;
    this.#letGo();
    this.#ready = true;
    this.#leaving = false;
    this.#endBy = Infinity;
    this.#prove();
    if (this.lease === undefined) this.#owner.onFreed(this);
  }

  onStopAsked(): void {
    if (!this.serving && this.state !== "booting") return;
    this.due ??= "asked";
    this.#leaving = true;
    if (this.state === "idle") this.stop("asked");
    else this.#owner.onChange();
  }

  onBroken(error: CoreError): void {
    if (this.state === "booting") return this.end("boot_failed", error);
    if (this.#leaving && this.#running?.over !== false) return this.end(this.due);
    const progress = this.#progress();
    if (this.#cancelled) this.end("killed");
    else this.end("died", error, progress);
  }

  onLine(text: string): void {
    this.#owner.onLine(this, text);
  }

  onExit(exit: WorkerExit): void {
    if (this.state === "gone") return;
    const running = this.#running;
    if (this.state === "booting") {
      this.crashed = true;
      this.#leave("gone", "boot_failed");
    } else if (this.serving) {
      const progress = this.#progress();
      const clean = running?.over !== false && (this.#leaving || exit.code === 0);
      const left = this.#cancelled && exit.signal === null;
      this.crashed = !clean && !left;
      if (!clean && !left && exit.code === 0) this.error = workerDied(exit);
      this.#leave("gone", clean ? this.due ?? "asked" : left ? "killed" : "died");
      this.#owner.onGone(this, exit);
      return running?.onFail(workerDied(exit), progress);
    }
    this.state = "gone";
    this.#owner.onGone(this, exit);
  }

  get #proofAt(): number {
    return this.proven ? Infinity : this.readyAt + proofMs;
  }

  #watch(now: number): void {
    const { inspect, inspectEvery = 250 } = this.#rules;
    this.#wait(Math.min(this.#proofAt, this.#endBy, inspect === undefined ? Infinity : now + inspectEvery));
  }

  #waitIdle(now: number): void {
    const next = this.#limitsMemory ? now + idleLookMs : Infinity;
    this.#wait(Math.min(this.#proofAt, next, this.due === undefined ? this.life!.dueAt(this) : Infinity));
  }

  get #limitsMemory(): boolean {
    const { inspect, maxMemory = 0, hardMemory = 0 } = this.#rules;
    return inspect !== undefined && (maxMemory > 0 || hardMemory > 0);
  }

  /** Ends it when it has more memory than any may have. */
  #overHard(rss = 0): boolean {
    const { hardMemory = 0 } = this.#rules;
    if (hardMemory === 0 || rss <= hardMemory) return false;
    this.end("memory", outOfMemory(rss, hardMemory));
    return true;
  }

  /** It goes on behind its lease. The next look was set when it was sent its request: mostly it is ready long before. */
  #workOn(until: number): void {
    this.#endBy = until;
    if (until < this.#until) this.#wait(until);
  }

  #letGo(): void {
    const kept = this.#kept;
    this.#kept = undefined;
    kept?.release();
  }

  #wait(until: number): void {
    this.#until = until;
    if (until !== Infinity) this.#owner.wake(until);
  }

  #leave(state: MemberState, reason: WorkerRestart | undefined): void {
    this.state = state;
    this.lease = undefined;
    this.#until = Infinity;
    this.#letGo();
    if (this.#left) return;
    this.#left = true;
    this.reason = reason;
    this.#owner.onLeft(this, reason);
  }

  #prove(): void {
    if (this.proven) return;
    this.proven = true;
    this.#owner.onProof(this);
  }

  /** What a request that was lost with its worker may have done. */
  #progress(): Progress {
    const raced = this.requests > 1 && this.#clock.now() - this.#sentAt < raceMs;
    return this.#running?.heard === false && raced ? "untouched" : "touched";
  }

  #inspect(now: number): void {
    this.#watch(now);
    const look = this.#rules.inspect?.(this.pid);
    if (look === undefined) return;
    // A process that was stopped before it had said a word has most likely not read its request.
    const silent = this.#running?.heard === false && this.requests > 1;
    if (look.stopped) this.end("stuck", workerStuck(), silent ? "untouched" : "touched");
    else this.#overHard(look.rss);
  }

  #readOn(): void {
    if (this.#paused) this.resume();
  }
}
