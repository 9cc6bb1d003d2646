import { CoreError } from "../../../core/error.ts";
import type { Clock } from "../../../core/clock.ts";
import { Connection } from "./connection.ts";
import type { Lease } from "./lease.ts";
import type { FcgiSocket } from "./socket.ts";

/** Why a child was replaced. */
export type RestartReason = "died" | "killed" | "max_requests" | "timeout";

/**
 * `connecting`: until greeted. `pausing`: until the next attempt. `idle`, `busy`: a greeted child; busy is when it is lent.
 * `gone`: the place is no longer the pool's.
 */
export type ChildState = "connecting" | "pausing" | "idle" | "busy" | "gone";

/** What a child needs to live. */
export interface ChildOptions {
  /** Opens a socket to php-fpm; must close it when `signal` aborts. */
  connect(signal: AbortSignal): Promise<FcgiSocket>;
  /** Makes the child tell its pid, which proves that it runs scripts; see {@linkcode greeting}. */
  greet(connection: Connection): Promise<number>;
  /** Ends the process. Called while its connection is still open. */
  killChild(pid: number, reason: RestartReason): void;
  /** For connecting and greeting together, in ms; 10 s when absent. */
  readonly greetTimeout?: number;
  /** A child is replaced after this many executions; 0 or absent: never. */
  readonly maxRequests?: number;
  /** Which part of `maxRequests` is left to chance, so that children do not restart together; 0.1 when absent. */
  readonly jitter?: number;
  readonly clock?: Clock;
  /** From 0 to below 1; `Math.random` when absent. */
  readonly random?: () => number;
}

/** What the pool hears from its children. */
export interface ChildOwner {
  /** Greeted: lend it. */
  onReady(child: Child): void;
  /** It was idle and is not any more. */
  onIdleLost(child: Child): void;
  onRestart(reason: RestartReason): void;
  onExecuted(): void;
  /** Connecting or greeting failed; undefined when it worked. */
  onProblem(error: CoreError | undefined): void;
  /** Whether there are more places than wanted, so that this one should close. */
  surplus(): boolean;
  /** It has left. */
  onGone(child: Child): void;
}

/** A greeted child, for people. */
export interface ChildRow {
  /** 0 when it has not told. */
  readonly pid: number;
  readonly state: "idle" | "busy";
  /** Requests that it has been lent for since it was greeted, the one that runs included. */
  readonly requests: number;
  /** Since it was greeted, in ms. */
  readonly age: number;
}

const FIRST_PAUSE = 10;
const LONGEST_PAUSE = 1000;

/**
 * One place in the pool: one connection to one php-fpm child, and when that is lost, the way to the next one. The first
 * attempt follows a loss at once; then there are pauses of 10 ms doubling to 1 s.
 */
export class Child {
  readonly #options: ChildOptions;
  readonly #owner: ChildOwner;
  readonly #clock: Clock;
  state: ChildState = "connecting";
  /** Of the current or last greeted child; 0 before the first. */
  pid = 0;
  /** How many children this place has had. */
  life = 0;
  connection: Connection | undefined;
  lease: Lease | undefined;
  #executions = 0;
  #limit = 0;
  #failures = 0;
  #greeted = 0;
  #attempt: AbortController | undefined;
  #cancelTimer: (() => void) | undefined;
  #waiting: (() => void)[] = [];

  constructor(options: ChildOptions, owner: ChildOwner, clock: Clock) {
    this.#options = options;
    this.#owner = owner;
    this.#clock = clock;
  }

  /** As it is now; undefined while nobody has been greeted. */
  get row(): ChildRow | undefined {
    const { state, pid } = this;
    if (state !== "idle" && state !== "busy") return undefined;
    const requests = this.#executions + (state === "busy" ? 1 : 0);
    return { pid, state, requests, age: this.#clock.now() - this.#greeted };
  }

  /** Connects and greets. */
  open(): void {
    if (this.state === "gone") return;
    if (this.#owner.surplus()) return this.close();
    this.state = "connecting";
    const attempt = this.#attempt = new AbortController();
    const limit = this.#options.greetTimeout ?? 10_000;
    this.#cancelTimer = this.#clock.setTimer(limit, () => {
      this.#failed(attempt, new CoreError("PHP_GREETING", `Expected PHP to answer a greeting within ${limit} ms`));
    });
    void this.#greet(attempt);
  }

  async #greet(attempt: AbortController): Promise<void> {
    let pid: number;
    try {
      const socket = await this.#options.connect(attempt.signal);
      if (this.#attempt !== attempt) return void socket.destroy();
      const connection: Connection = new Connection(socket, {
        onDown: (error, running) => this.#onDown(connection, error, running),
      });
      this.connection = connection;
      pid = await this.#options.greet(connection);
      if (this.#attempt !== attempt) return;
      if (connection.state !== "idle") throw new Error("the greeting left the connection unusable");
    } catch (cause) {
      return this.#failed(
        attempt,
        cause instanceof CoreError
          ? cause
          : new CoreError("PHP_GREETING", `Cannot greet PHP: ${cause instanceof Error ? cause.message : cause}`, {
            cause,
          }),
      );
    }
    this.#ready(pid);
  }

  #ready(pid: number): void {
    this.#attempt = undefined;
    this.#cancelTimer?.();
    this.pid = pid;
    this.life++;
    this.#executions = 0;
    this.#greeted = this.#clock.now();
    const most = this.#options.maxRequests ?? 0;
    const chance = (this.#options.random ?? Math.random)() * (this.#options.jitter ?? 0.1);
    this.#limit = most === 0 ? Infinity : Math.max(1, most - Math.floor(most * chance));
    this.#owner.onProblem(undefined);
    if (this.#owner.surplus()) return this.close();
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#owner.onReady(this);
    for (const onFree of waiting) onFree();
  }

  #failed(attempt: AbortController, error: CoreError): void {
    if (this.#attempt !== attempt) return;
    this.#abandon();
    this.#owner.onProblem(error);
    this.#pause();
  }

  #pause(): void {
    if (this.#owner.surplus()) return this.close();
    this.state = "pausing";
    const ms = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** Math.min(this.#failures++, 10));
    this.#cancelTimer = this.#clock.setTimer(ms, () => this.open());
  }

  /** Ends an attempt or a pause, and whatever connection there is. */
  #abandon(): void {
    const attempt = this.#attempt;
    this.#attempt = undefined;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.connection?.destroy();
    this.connection = undefined;
    attempt?.abort();
  }

  #onDown(connection: Connection, error: CoreError, running: boolean): void {
    if (this.connection !== connection) return;
    if (this.#attempt !== undefined) return this.#failed(this.#attempt, error);
    this.#lost(running ? "killed" : error.code === "PHP_BODY_UNREAD" ? undefined : "died", running);
  }

  /** The child of this life is no more: counts why, and goes for the next one. */
  #lost(reason: RestartReason | undefined, kill: boolean): void {
    const wasIdle = this.state === "idle";
    // A child that dies without having done or seen anything would do so again and again.
    const barren = wasIdle && this.#executions === 0 && this.#clock.now() - this.#greeted < LONGEST_PAUSE;
    this.state = "connecting";
    this.lease = undefined;
    if (wasIdle) this.#owner.onIdleLost(this);
    if (reason !== undefined) this.#owner.onRestart(reason);
    if (kill) this.#kill(reason!);
    this.#abandon();
    if (barren) return this.#pause();
    this.#failures = 0;
    this.open();
  }

  #kill(reason: RestartReason): void {
    try {
      this.#options.killChild(this.pid, reason);
    } catch (cause) {
      this.#owner.onProblem(new CoreError("PHP_KILL", `Cannot end the PHP process ${this.pid}`, { cause }));
    }
  }

  /** The holder says that it is done. */
  finish(onFree: (() => void) | undefined): void {
    this.lease = undefined;
    this.#executions++;
    this.#owner.onExecuted();
    if (this.connection?.state !== "idle") return this.kill("killed", onFree);
    if (this.#owner.surplus()) {
      this.close();
      return onFree?.();
    }
    if (this.#executions >= this.#limit) return this.kill("max_requests", onFree);
    this.#owner.onReady(this);
    onFree?.();
  }

  kill(reason: RestartReason, onFree: (() => void) | undefined): void {
    if (onFree !== undefined) this.#waiting.push(onFree);
    this.#lost(reason, true);
  }

  /** Closes the connection of a running request; its process ends by itself, or takes the next connection. */
  hangUp(onFree: (() => void) | undefined): void {
    if (this.connection?.sending) return this.kill("killed", onFree);
    if (onFree !== undefined) this.#waiting.push(onFree);
    this.#lost(undefined, false);
  }

  /** Calls `onFree` when the place has a child again after the one of `life`, or that one is known to be gone. */
  whenFree(life: number, onFree: () => void): void {
    if (this.state === "gone" || this.life > life) onFree();
    else this.#waiting.push(onFree);
  }

  /** The process of this pid is known to have ended. */
  childGone(pid: number): void {
    if (this.pid === pid && this.state !== "idle" && this.state !== "busy") this.#tellFree();
  }

  /** Leaves the pool. A holder hears `error`, when there is one. */
  close(error?: CoreError): void {
    if (this.state === "gone") return;
    const wasIdle = this.state === "idle";
    this.state = "gone";
    this.lease = undefined;
    if (wasIdle) this.#owner.onIdleLost(this);
    const connection = this.connection;
    this.connection = undefined;
    this.#abandon();
    connection?.destroy(error);
    this.#owner.onGone(this);
    this.#tellFree();
  }

  #tellFree(): void {
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    this.#waiting = [];
    for (const onFree of waiting) onFree();
  }
}
