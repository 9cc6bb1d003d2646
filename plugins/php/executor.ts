import { CoreError } from "../../core/error.ts";
import type { Exchange } from "../../core/exchange.ts";
import { type Clock, systemClock } from "./fastcgi/clock.ts";
import type { Progress } from "./fastcgi/handler.ts";
import type { Lease } from "./fastcgi/lease.ts";
import type { ChildPool } from "./fastcgi/pool.ts";
import type { FcgiRequest } from "./fastcgi/request.ts";
import { Reply, type ReplyHost } from "./reply.ts";
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
 * How often runs are looked at, in ms: so late it is noticed that a client has left or a deadline has come.
 */
const lookEvery = 10;
/**
 * Output younger than this (ms) at a look stays held back: the rest of the response mostly comes right behind, and a
 * page sent in pieces costs several times as much. Who must not wait sends server-sent events, or `X-Accel-Buffering: no`.
 */
const holdMs = 90;

/** Methods that may be sent twice (RFC 9110, section 9.2.2), and that carry no body here. */
const repeatable = new Set(["GET", "HEAD", "OPTIONS"]);

/** Runs admitted exchanges, each on one PHP process of the pool. */
export class PhpExecutor {
  readonly #options: ExecutorOptions;
  readonly #clock: Clock;
  readonly #watch: Watch;
  /** Processes whose client has left: they run on until they print, or until their deadline. */
  readonly #deserted = new Map<number, Watched>();

  constructor(options: ExecutorOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#watch = new Watch(this.#clock, lookEvery);
  }

  /**
   * Sends the request to a process and answers with what it prints. The exchange's permits come back when the process
   * is free: after a timeout when its successor is up, after a disconnect when it has noticed.
   */
  run(x: Exchange, request: FcgiRequest, body: ReceivedBody | undefined): Promise<Response> {
    x.hold();
    x.handler = "php";
    const run = new Run(this, this.#options, this.#clock, x, request, body);
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
        this.#options.killChild(pid);
      },
    };
    this.#deserted.set(pid, item);
    this.#watch.add(item);
  }

  close(): void {
    this.#watch.close();
  }
}

/** One execution. */
class Run implements Watched, ReplyHost {
  place: number = -1;
  readonly method: string;
  readonly reply: Reply;
  readonly #executor: PhpExecutor;
  readonly #options: ExecutorOptions;
  readonly #clock: Clock;
  readonly #x: Exchange;
  readonly #request: FcgiRequest;
  readonly #body: ReceivedBody | undefined;
  readonly #started: number;
  #lease: Lease | undefined;
  #repeated = false;
  #over = false;
  /** When a part of the reply was held back, or Infinity. */
  #held = Infinity;

  constructor(
    executor: PhpExecutor,
    options: ExecutorOptions,
    clock: Clock,
    x: Exchange,
    request: FcgiRequest,
    body: ReceivedBody | undefined,
  ) {
    this.#executor = executor;
    this.#options = options;
    this.#clock = clock;
    this.#x = x;
    this.#request = request;
    this.#body = body;
    this.method = x.method;
    this.#started = clock.now();
    this.reply = new Reply(this);
  }

  start(): void {
    const lease = this.#options.pool.checkout();
    if (lease !== undefined) this.onLease(lease);
    // Only while a process is being replaced: a permit is held, so there is one for us.
    else this.#options.pool.wait(this);
  }

  respond(...args: Parameters<Exchange["respond"]>): Response {
    return this.#x.respond(...args);
  }

  onLease(lease: Lease): void {
    this.#lease = lease;
    lease.send(this.#request, this.reply);
  }

  onRefuse(error: CoreError): void {
    this.reply.fail(error);
    this.#end("error");
    this.#x.release();
  }

  pause(): void {
    this.#lease?.pause();
  }

  resume(): void {
    this.#lease?.resume();
  }

  onStderr(text: string): void {
    this.#options.onStderr(this.#x, this.#lease?.pid ?? 0, text);
  }

  onEnd(): void {
    const lease = this.#lease!;
    this.#x.bytes = this.reply.bytes;
    this.#end("ok");
    lease.done(() => this.#x.release());
  }

  onFail(error: CoreError, progress: Progress): boolean {
    if (this.#over) return false;
    const lease = this.#lease!;
    this.#lease = undefined;
    // A process may die while it is idle, unseen until we write to it: then nothing has run, or nothing that a repeated
    // GET could tell from its first time.
    const again = !this.#repeated &&
      (progress === "unsent" || (progress === "untouched" && repeatable.has(this.method)));
    if (again && !this.#x.gone && error.status !== 431) {
      this.#repeated = true;
      // The permit stays ours, and with it our right to one process.
      lease.done();
      this.start();
      return true;
    }
    this.#end("error");
    lease.done(() => this.#x.release());
    return false;
  }

  onStream(sent: Promise<void>): void {
    this.#x.sent = sent.finally(() => this.#x.bytes = this.reply.bytes);
  }

  onCancel(): void {
    this.#left();
  }

  onHold(): void {
    this.#held = this.#clock.now();
  }

  look(now: number): void {
    if (this.#over) return;
    if (now >= this.#x.deadline) this.#expire();
    else if (this.#x.gone) this.#left();
    else if (now - this.#held >= holdMs) this.reply.flush();
  }

  #expire(): void {
    const lease = this.#lease;
    const seconds = ((this.#clock.now() - this.#x.started) / 1000).toFixed(1);
    const text = lease === undefined ? "no PHP process came free" : `PHP process ${lease.pid} was ended`;
    const error = new CoreError("PHP_TIMEOUT", `The request took over ${seconds} s: ${text}`, { status: 504 });
    this.#end("timeout");
    if (lease === undefined) {
      this.#options.pool.cancel(this);
      this.#x.release();
    } else lease.kill("timeout", () => this.#x.release());
    this.reply.fail(error);
  }

  /** The client has left. PHP is told as every web server tells it, by closing; it notices when it prints. */
  #left(): void {
    if (this.#over) return;
    const lease = this.#lease;
    this.#end("left");
    if (lease === undefined) {
      this.#options.pool.cancel(this);
      this.#x.release();
    } else {
      this.#executor.desert(lease.pid, this.#x.deadline);
      lease.hangUp(() => this.#x.release());
    }
    this.reply.fail(new CoreError("CLIENT_LEFT", "The client left before PHP had answered", { status: 499 }));
  }

  #end(end: ExecutionEnd): void {
    this.#over = true;
    this.#executor.ended(this);
    this.#body?.dispose();
    this.#options.onEnd(end, this.#clock.now() - this.#started);
  }
}
