import type { Executions, RunningExecution } from "../../core/contracts/executions.ts";
import type { Exchange } from "../../core/exchange.ts";
import { type Clock, systemClock } from "./fastcgi/clock.ts";
import type { ExecutionPool } from "./execution_pool.ts";
import { Run } from "./run.ts";
import { Watch, type Watched } from "./watch.ts";

/** How an execution ended, as a metrics label. */
export type ExecutionEnd = "ok" | "error" | "timeout" | "left";

/** What a request keeps until it is over: the files of its body. */
export interface Disposable {
  /** Idempotent. */
  dispose(): void;
}

export interface ExecutorOptions<R> {
  readonly pool: ExecutionPool<R>;
  /**
   * Ends a process that may hold no lease any more; false when it is not PHP's. Absent where the pool itself sees to processes
   * whose client has left.
   */
  readonly killChild?: (pid: number) => boolean;
  /** One line that PHP logged. */
  onStderr(x: Exchange, pid: number, text: string): void;
  onEnd(end: ExecutionEnd, ms: number): void;
  readonly clock?: Clock;
}

/**
 * How often runs are looked at, in ms: so late it is noticed that a client has left or a deadline has come. At low rates each
 * look wakes an idle core, so it should not be more often than the work itself does.
 */
const lookEvery = 25;
/** How long (ms) it is known what a process did that was ended: what it had asked of others may end later than it. */
const rememberFor = 1000;

/** An execution, or what is left of it: a process. */
interface Working extends Watched {
  readonly x: Exchange;
  readonly started: number;
  /** The process at work; undefined while none is, 0 when it has not told. */
  readonly pid: number | undefined;
}

/** Runs admitted exchanges, each on one PHP process of the pool. */
export class PhpExecutor<R> implements Executions {
  readonly options: ExecutorOptions<R>;
  readonly clock: Clock;
  readonly #watch: Watch<Working>;
  /** Processes whose client has left: they run on until they print, or until their deadline. */
  readonly #deserted = new Map<number, Working>();

  constructor(options: ExecutorOptions<R>) {
    this.options = options;
    this.clock = options.clock ?? systemClock;
    this.#watch = new Watch(this.clock, lookEvery);
  }

  /**
   * Sends the request to a process and answers with what it prints. The exchange's permits come back when the process
   * is free: after a timeout when its successor is up, after a disconnect when it has noticed.
   */
  run(x: Exchange, request: R, body?: Disposable): Promise<Response> {
    x.hold();
    x.handler = "php";
    const run = new Run(this, x, request, body);
    this.#watch.add(run);
    run.start();
    return run.reply.response;
  }

  byPid(pid: number): RunningExecution | undefined {
    if (pid === 0) return undefined;
    for (const { pid: one, x: { id, target, deadline }, started } of this.#watch) {
      if (one === pid) return { id, target, started, deadline };
    }
    return undefined;
  }

  *pids(): Iterable<number> {
    for (const { pid } of this.#watch) if (pid) yield pid;
  }

  /** A process has been greeted: whatever it did before has ended. */
  greeted(pid: number): void {
    const item = this.#deserted.get(pid);
    if (item === undefined) return;
    this.#deserted.delete(pid);
    this.#watch.delete(item);
  }

  /** @internal A run has ended. */
  ended(run: Run<R>): void {
    this.#watch.delete(run);
  }

  /** @internal A process goes on for nobody: it is ended at its request's deadline. */
  desert(pid: number, { x, started }: Run<R>): void {
    const kill = this.options.killChild;
    if (kill === undefined) return;
    const item: Working = {
      place: -1,
      x,
      started,
      pid,
      look: (now) => {
        if (now < x.deadline) return;
        this.#deserted.delete(pid);
        this.#watch.delete(item);
        kill(pid);
        this.killed(pid, item);
      },
    };
    this.#deserted.set(pid, item);
    this.#watch.add(item);
  }

  /** @internal A process was ended at its request's deadline. */
  killed(pid: number, { x, started }: Pick<Working, "x" | "started">): void {
    const until = this.clock.now() + rememberFor;
    const item: Working = {
      place: -1,
      x,
      started,
      pid,
      look: (now) => {
        if (now >= until) this.#watch.delete(item);
      },
    };
    this.#watch.add(item);
  }

  close(): void {
    this.#watch.close();
  }
}
