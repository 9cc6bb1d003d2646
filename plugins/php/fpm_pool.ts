import type { Executions } from "../../core/contracts/executions.ts";
import type { Exchange } from "../../core/exchange.ts";
import type { Awaitable, Execution, Log } from "../../core/plugin.ts";
import type { Engine, PoolFigures, ProcessRow } from "./engine.ts";
import { PhpExecutor } from "./executor.ts";
import type { FcgiRequest } from "./fastcgi/request.ts";
import { type EngineOptions, type FpmEngine, ownFpm, useFpm } from "./fpm_engine.ts";
import type { PhpCounts } from "./metrics.ts";
import { requestWriter } from "./request_writer.ts";
import type { Script } from "./resolve.ts";
import { receiveBody, type ReceivedBody } from "./spool.ts";

/** Request bodies up to this size (bytes) are kept in memory until PHP takes them. */
const bodyInMemory = 131_072;

export interface FpmPoolOptions {
  readonly engine: Omit<EngineOptions, "onGreeted" | "onRestart">;
  readonly lane: string;
  /** `name/version`, for `$_SERVER`. */
  readonly software: string;
  readonly count: PhpCounts;
  readonly log: Log;
}

/** A pool of php-fpm's processes: ours, or those of one that runs already. */
export class FpmPool implements Engine {
  readonly #fpm: FpmEngine;
  readonly #lane: string;
  readonly #executor: PhpExecutor<FcgiRequest>;
  readonly #write: ReturnType<typeof requestWriter>;
  /** Bodies in files. Most are freed by the run that used them; who is turned away before never gets one. */
  readonly #spooled = new Map<Exchange, ReceivedBody>();

  private constructor(fpm: FpmEngine, executor: PhpExecutor<FcgiRequest>, options: FpmPoolOptions) {
    this.#fpm = fpm;
    this.#executor = executor;
    this.#lane = options.lane;
    const { settings } = options.engine;
    // The environment of a php-fpm that is not ours comes with each request; its php.ini cannot.
    this.#write = requestWriter(options.software, settings.fastcgi === undefined ? undefined : settings.env);
  }

  static async start(options: FpmPoolOptions): Promise<FpmPool> {
    const { count, log } = options;
    const late: { executor?: PhpExecutor<FcgiRequest> } = {};
    const engineOptions: EngineOptions = {
      ...options.engine,
      onGreeted: (pid) => late.executor?.greeted(pid),
      onRestart: (reason) => count.restarted(reason),
    };
    const { fastcgi } = options.engine.settings;
    const fpm = fastcgi === undefined ? await ownFpm(engineOptions) : useFpm(engineOptions, fastcgi);
    const executor = late.executor = new PhpExecutor<FcgiRequest>({
      pool: fpm.pool,
      killChild: (pid) => fpm.killChild(pid),
      onStderr: (x, pid, text) => log("warn", text.trim(), { id: x.id, pid, target: x.target }),
      onEnd: (end, ms) => count.ended(end, ms),
    });
    return new FpmPool(fpm, executor, options);
  }

  get figures(): PoolFigures {
    return this.#fpm.pool;
  }

  get executions(): Executions {
    return this.#executor;
  }

  execution(x: Exchange, script: Script): Awaitable<Execution> {
    const stream = x.body;
    return stream === null ? this.#execution(script) : this.#receive(x, stream, script);
  }

  finish(x: Exchange): void {
    if (this.#spooled.size === 0) return;
    this.#spooled.get(x)?.dispose();
    this.#spooled.delete(x);
  }

  problem(): string | undefined {
    return this.#fpm.problem();
  }

  rows(): readonly ProcessRow[] {
    return [...this.#executor.pids()].map((pid) => {
      const { id, target } = this.#executor.byPid(pid) ?? {};
      return { pid, state: "busy", id, target };
    });
  }

  /** php-fpm looks at the time stamps of files by itself, and each request resolves the public root anew. */
  reload(): Promise<void> {
    return Promise.resolve();
  }

  async close(): Promise<void> {
    this.#executor.close();
    await this.#fpm.close();
  }

  #execution(script: Script, body?: ReceivedBody): Execution {
    return {
      lane: this.#lane,
      run: (x) => this.#executor.run(x, this.#write(x, script, body?.body), body),
    };
  }

  /** Takes the whole body before anything waits: a slow client holds neither a place in the line nor a process. */
  async #receive(x: Exchange, stream: ReadableStream<Uint8Array>, script: Script): Promise<Execution> {
    const body = await receiveBody(stream, { memory: bodyInMemory, dir: this.#fpm.spoolDir });
    if (!(body.body instanceof Uint8Array)) this.#spooled.set(x, body);
    return this.#execution(script, body);
  }
}
