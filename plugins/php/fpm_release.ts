import { CoreError } from "../../core/error.ts";
import type { Log } from "../../core/plugin.ts";
import { PhpExecutor } from "./executor.ts";
import type { ChildPool } from "./fastcgi/pool.ts";
import type { FcgiRequest } from "./fastcgi/request.ts";
import { type EngineOptions, type FpmEngine, ownFpm, useFpm } from "./fpm_engine.ts";
import type { PhpCounts } from "./metrics.ts";
import { receiveBody, type ReceivedBody } from "./spool.ts";

/** Request bodies up to this size (bytes) are kept in memory until PHP takes them. */
const bodyInMemory = 131_072;
/** How often (ms) a php-fpm that another one has replaced is looked at. */
const lookEvery = 100;
/** How long (ms) the first process of a new php-fpm may take. */
const upMs = 10_000;

export interface FpmReleaseOptions {
  readonly engine: Omit<EngineOptions, "onGreeted" | "onRestart">;
  readonly count: PhpCounts;
  readonly log: Log;
}

/** One php-fpm and what runs on it, from the start or a reload to the next reload. */
export class FpmRelease {
  readonly fpm: FpmEngine;
  readonly executor: PhpExecutor<FcgiRequest>;
  readonly #greeted: Promise<void>;
  /** Bodies on their way, some to files in its folder. */
  #receiving = 0;
  #closed: Promise<void> | undefined;

  private constructor(fpm: FpmEngine, executor: PhpExecutor<FcgiRequest>, greeted: Promise<void>) {
    this.fpm = fpm;
    this.executor = executor;
    this.#greeted = greeted;
  }

  static async start({ engine, count, log }: FpmReleaseOptions): Promise<FpmRelease> {
    const late: { executor?: PhpExecutor<FcgiRequest> } = {};
    const greeted = Promise.withResolvers<void>();
    const options: EngineOptions = {
      ...engine,
      onGreeted(pid) {
        greeted.resolve();
        late.executor?.greeted(pid);
      },
      onRestart: (reason) => count.restarted(reason),
    };
    const { fastcgi } = engine.settings;
    const fpm = fastcgi === undefined ? await ownFpm(options) : useFpm(options, fastcgi);
    const executor = late.executor = new PhpExecutor<FcgiRequest>({
      pool: fpm.pool,
      killChild: (pid) => fpm.killChild(pid),
      onStderr: (x, pid, text) => log("warn", text.trim(), { id: x.id, pid, target: x.target }),
      onEnd: (end, ms) => count.ended(end, ms),
    });
    return new FpmRelease(fpm, executor, greeted.promise);
  }

  get pool(): ChildPool {
    return this.fpm.pool;
  }

  /**
   * Settles when a process runs scripts.
   *
   * @throws CoreError `PHP_START`
   */
  async up(): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        const why = this.fpm.problem() ?? "no process answered";
        reject(new CoreError("PHP_START", `Cannot start another php-fpm within ${upMs} ms: ${why}`));
      }, upMs);
    });
    try {
      await Promise.race([this.#greeted, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  async receive(stream: ReadableStream<Uint8Array>): Promise<ReceivedBody> {
    this.#receiving++;
    try {
      return await receiveBody(stream, { memory: bodyInMemory, dir: this.fpm.spoolDir });
    } finally {
      this.#receiving--;
    }
  }

  /** Settles when nothing runs on it, or waits to. Requests have deadlines, so that it does. */
  async idle(): Promise<void> {
    while (this.#closed === undefined && (this.#receiving > 0 || this.pool.waiting > 0 || this.#works())) {
      await new Promise((resolve) => setTimeout(resolve, lookEvery));
    }
  }

  /** Whether a process works: also one whose client has left. */
  #works(): boolean {
    return this.pool.busy > 0 || !this.executor.pids()[Symbol.iterator]().next().done;
  }

  close(): Promise<void> {
    return this.#closed ??= this.#close();
  }

  async #close(): Promise<void> {
    this.executor.close();
    await this.fpm.close();
  }
}
