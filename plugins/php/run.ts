import { CoreError } from "../../core/error.ts";
import type { Exchange } from "../../core/exchange.ts";
import { Ending } from "./ending.ts";
import type { Disposable, ExecutionEnd, PhpExecutor } from "./executor.ts";
import type { Progress } from "./fastcgi/handler.ts";
import type { ExecutionLease, ExecutionWaiter } from "./execution_pool.ts";
import { Reply, type ReplyHost } from "./reply.ts";
import type { Watched } from "./watch.ts";

/**
 * Output younger than this (ms) at a look stays held back: the rest of the response mostly comes right behind, and a
 * page sent in pieces costs several times as much. Who must not wait sends server-sent events, or `X-Accel-Buffering: no`.
 */
const holdMs = 90;

/** Methods that may be sent twice (RFC 9110, section 9.2.2), and that carry no body here. */
const repeatable = new Set(["GET", "HEAD", "OPTIONS"]);

/** One execution. */
export class Run<R> implements Watched, ReplyHost, ExecutionWaiter<R> {
  place: number = -1;
  readonly x: Exchange;
  readonly reply: Reply;
  readonly #executor: PhpExecutor<R>;
  readonly #request: R;
  readonly #body: Disposable | undefined;
  /** When it began, on the clock of the executor. */
  readonly started: number;
  /** Of what its process does for it. */
  ending: Ending = new Ending();
  #lease: ExecutionLease<R> | undefined;
  #repeated = false;
  #over = false;
  /** When a part of the reply was held back, or Infinity. */
  #held = Infinity;

  constructor(executor: PhpExecutor<R>, x: Exchange, request: R, body: Disposable | undefined) {
    this.#executor = executor;
    this.x = x;
    this.#request = request;
    this.#body = body;
    this.started = executor.clock.now();
    this.reply = new Reply(this);
  }

  get pid(): number | undefined {
    return this.#lease?.pid;
  }

  start(): void {
    const lease = this.#executor.options.pool.checkout();
    if (lease !== undefined) this.onLease(lease);
    // Only while a process is being replaced: a permit is held, so there is one for us.
    else this.#executor.options.pool.wait(this);
  }

  onLease(lease: ExecutionLease<R>): void {
    this.#lease = lease;
    lease.send(this.#request, this.reply);
  }

  onRefuse(error: CoreError): void {
    this.reply.fail(error);
    this.#end("error");
    this.x.release();
  }

  pause(): void {
    this.#lease?.pause();
  }

  resume(): void {
    this.#lease?.resume();
  }

  onStderr(text: string): void {
    this.#executor.options.onStderr(this.x, this.#lease?.pid ?? 0, text);
  }

  onEnd(): void {
    const lease = this.#lease!;
    this.x.bytes = this.reply.bytes;
    this.#end("ok");
    lease.done(() => this.x.release());
  }

  onFail(error: CoreError, progress: Progress): boolean {
    if (this.#over) return false;
    const lease = this.#lease!;
    // It has not been asked to do anything.
    if (progress === "unsent") this.ending.end();
    // A process may die while it is idle, unseen until we write to it: then nothing has run, or nothing that a repeated
    // GET could tell from its first time.
    const again = !this.#repeated &&
      (progress === "unsent" || (progress === "untouched" && repeatable.has(this.x.method)));
    if (again && !this.x.gone && error.status !== 431) {
      this.#repeated = true;
      this.#lease = undefined;
      this.ending.end();
      this.ending = new Ending();
      // The permit stays ours, and with it our right to one process.
      lease.done();
      this.start();
      return true;
    }
    this.#end("error");
    lease.done(() => this.x.release());
    return false;
  }

  onStream(sent: Promise<void>): void {
    this.x.sent = sent.finally(() => this.x.bytes = this.reply.bytes);
  }

  onCancel(): void {
    this.#left();
  }

  onHold(): void {
    this.#held = this.#executor.clock.now();
  }

  look(now: number): void {
    if (this.#over) return;
    if (now >= this.x.deadline) this.#expire();
    else if (this.x.gone) this.#left();
    else if (now - this.#held >= holdMs) this.reply.flush();
  }

  #expire(): void {
    const lease = this.#lease;
    const seconds = ((this.#executor.clock.now() - this.x.started) / 1000).toFixed(1);
    const text = lease === undefined ? "no PHP process came free" : `PHP process ${lease.pid} was ended`;
    const error = new CoreError("PHP_TIMEOUT", `The request took over ${seconds} s: ${text}`, { status: 504 });
    this.#end("timeout", lease === undefined);
    if (lease === undefined) {
      this.#executor.options.pool.cancel(this);
      this.x.release();
    } else {
      lease.kill("timeout", () => this.x.release());
      this.#executor.killed(lease.pid, this);
    }
    this.reply.fail(error);
  }

  /** The client has left. PHP is told as every web server tells it, by closing; it notices when it prints. */
  #left(): void {
    if (this.#over) return;
    const lease = this.#lease;
    this.#end("left", lease === undefined);
    if (lease === undefined) {
      this.#executor.options.pool.cancel(this);
      this.x.release();
    } else {
      this.#executor.desert(lease.pid, this);
      lease.hangUp(() => this.x.release());
    }
    this.reply.fail(new CoreError("CLIENT_LEFT", "The client left before PHP had answered", { status: 499 }));
  }

  /** @param ended whether its process is done with it */
  #end(end: ExecutionEnd, ended: boolean = true): void {
    this.#over = true;
    this.#executor.ended(this, ended);
    this.#body?.dispose();
    this.#executor.options.onEnd(end, this.#executor.clock.now() - this.started);
  }
}
