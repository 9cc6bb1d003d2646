import type { Exchange } from "../../core/exchange.ts";
import { type Clock, systemClock } from "./fastcgi/clock.ts";
import type { ChildPool } from "./fastcgi/pool.ts";
import type { FcgiRequest } from "./fastcgi/request.ts";
import { Run } from "./run.ts";
import type { ReceivedBody } from "./spool.ts";
import { Watch, type Watched } from "./watch.ts";

/** How an execution ended, as a metrics label. */
export type ExecutionEnd = "ok" | "error" | "timeout" | "left";

export interface ExecutorOptions {
  readonly pool: ChildPool;
  /** Ends a process that may hold no lease any more; false when it is not PHP's. */
  killChild(pid: number): boolean;
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

/** Runs admitted exchanges, each on one PHP process of the pool. */
export class PhpExecutor {
  readonly options: ExecutorOptions;
  readonly clock: Clock;
  readonly #watch: Watch;
  /** Processes whose client has left: they run on until they print, or until their deadline. */
  readonly #deserted = new Map<number, Watched>();

  constructor(options: ExecutorOptions) {
    this.options = options;
    this.clock = options.clock ?? systemClock;
    this.#watch = new Watch(this.clock, lookEvery);
  }

  /**
   * Sends the request to a process and answers with what it prints. The exchange's permits come back when the process
   * is free: after a timeout when its successor is up, after a disconnect when it has noticed.
   */
  run(x: Exchange, request: FcgiRequest, body: ReceivedBody | undefined): Promise<Response> {
    x.hold();
    x.handler = "php";
    const run = new Run(this, x, request, body);
    this.#watch.add(run);
    run.start();
    return run.reply.response;
  }

  /** A process has been greeted: whatever it did before has ended. */
  greeted(pid: number): void {
    const item = this.#deserted.get(pid);
    if (item === undefined) return;
    this.#deserted.delete(pid);
    this.#watch.delete(item);
  }

  /** @internal A run has ended. */
  ended(run: Run): void {
    this.#watch.delete(run);
  }

  /** @internal A process goes on for nobody: it is ended at its request's deadline. */
  desert(pid: number, deadline: number): void {
    const item: Watched = {
      place: -1,
      look: (now) => {
        if (now < deadline) return;
        this.#deserted.delete(pid);
        this.#watch.delete(item);
        this.options.killChild(pid);
      },
    };
    this.#deserted.set(pid, item);
    this.#watch.add(item);
  }

  close(): void {
    this.#watch.close();
  }
}
