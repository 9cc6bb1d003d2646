import type { Executions, RunningExecution } from "../../core/contracts/executions.ts";
import type { Exchange } from "../../core/exchange.ts";
import { type Clock, systemClock } from "../../core/clock.ts";
import type { ExecutionPool } from "./execution_pool.ts";
import type { Ending } from "./ending.ts";
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
   * whose request is over, and tells {@linkcode PhpExecutor.freed} when they are done with it.
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
  readonly ending: Ending;
}

/** Runs admitted exchanges, each on one PHP process of the pool. */
export class PhpExecutor<R> implements Executions {
  readonly options: ExecutorOptions<R>;
  readonly clock: Clock;
  readonly #watch: Watch<Working>;
  /** Processes whose client has left: they run on until they print, or until their deadline. */
  readonly #deserted = new Map<number, Working>();
  /** Runs that are over, on processes that are not done with them: they work behind the response, or are being ended. */
  readonly #behind = new Map<number, Working>();

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

  whenEnded(pid: number, ended: () => void): (() => void) | undefined {
    return this.#working(pid)?.ending.whenOver(ended);
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
    item.ending.end();
  }

  /** A process is done with what it ran: it can run something else, or is gone. For pools that see to their processes themselves. */
  freed(pid: number): void {
    const behind = this.#behind.get(pid);
    if (behind !== undefined) {
      this.#behind.delete(pid);
      this.#watch.delete(behind);
    }
    (behind ?? this.#working(pid))?.ending.end();
  }

  /**
   * @internal A run is over.
   *
   * @param ended whether its process is done with it, as far as its protocol tells
   */
  ended(run: Run<R>, ended: boolean): void {
    const { pid, ending } = run;
    if (pid && !ending.over && this.options.killChild === undefined) return void this.#behind.set(pid, run);
    this.#watch.delete(run);
    if (ended) ending.end();
  }

  /** @internal A process goes on for nobody: it is ended at its request's deadline. */
  desert(pid: number, { x, started, ending }: Run<R>): void {
    const kill = this.options.killChild;
    if (kill === undefined) return;
    const item: Working = {
      place: -1,
      x,
      started,
      pid,
      ending,
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
  killed(pid: number, { x, started, ending }: Pick<Working, "x" | "started" | "ending">): void {
    if (this.options.killChild !== undefined) ending.end();
    const until = this.clock.now() + rememberFor;
    const item: Working = {
      place: -1,
      x,
      started,
      pid,
      ending,
      look: (now) => {
        if (now >= until) this.#watch.delete(item);
      },
    };
    this.#watch.add(item);
  }

  close(): void {
    const all = [...this.#watch];
    this.#watch.close();
    this.#behind.clear();
    for (const { ending } of all) ending.end();
  }

  /** What a process runs and is not done with. */
  #working(pid: number): Working | undefined {
    if (pid === 0) return undefined;
    for (const one of this.#watch) if (one.pid === pid && !one.ending.over) return one;
    return undefined;
  }
}
