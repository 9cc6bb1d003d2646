import type { Executions } from "../../core/contracts/executions.ts";
import { CoreError } from "../../core/error.ts";
import type { Exchange } from "../../core/exchange.ts";
import type { Awaitable, Execution } from "../../core/plugin.ts";
import { Bodies } from "./bodies.ts";
import type { Engine, PoolFigures, ProcessRow } from "./engine.ts";
import { FpmRelease, type FpmReleaseOptions } from "./fpm_release.ts";
import { requestWriter } from "./request_writer.ts";
import type { Script } from "./resolve.ts";
import type { ReceivedBody } from "./spool.ts";
import { inspectProcess } from "./worker/inspect.ts";

export interface FpmPoolOptions extends FpmReleaseOptions {
  readonly lane: string;
  /** `name/version`, for `$_SERVER`. */
  readonly software: string;
}

/** A pool of php-fpm's processes: ours, or those of one that runs already. */
export class FpmPool implements Engine {
  readonly #options: FpmPoolOptions;
  readonly #write: ReturnType<typeof requestWriter>;
  readonly #bodies = new Bodies();
  #current: FpmRelease;
  /** Those before it, as long as they have something to do. */
  readonly #leaving = new Set<FpmRelease>();
  #closed = false;
  /** The reload under way. */
  #reloading: Promise<void> = Promise.resolve();

  private constructor(first: FpmRelease, options: FpmPoolOptions) {
    this.#current = first;
    this.#options = options;
    const { settings } = options.engine;
    // The environment of a php-fpm that is not ours comes with each request; its php.ini cannot.
    this.#write = requestWriter(options.software, settings.fastcgi === undefined ? undefined : settings.env);
  }

  static async start(options: FpmPoolOptions): Promise<FpmPool> {
    return new FpmPool(await FpmRelease.start(options), options);
  }

  get figures(): PoolFigures {
    const { size, alive, waiting } = this.#current.pool;
    const all = this.#all();
    const sum = (figure: "alive" | "busy") => all.reduce((total, { pool }) => total + pool[figure], 0);
    return { size, alive, waiting, busy: sum("busy"), processes: sum("alive"), bootFailures: 0 };
  }

  get executions(): Executions {
    return {
      byPid: (pid) => {
        for (const { executor } of this.#all()) {
          const running = executor.byPid(pid);
          if (running !== undefined) return running;
        }
        return undefined;
      },
      whenEnded: (pid, ended) => {
        for (const { executor } of this.#all()) {
          const takeBack = executor.whenEnded(pid, ended);
          if (takeBack !== undefined) return takeBack;
        }
        return undefined;
      },
      pids: () => this.#all().flatMap(({ executor }) => [...executor.pids()]),
    };
  }

  execution(x: Exchange, script: Script): Awaitable<Execution> {
    const stream = x.body;
    return stream === null ? this.#execution(script) : this.#receive(x, stream, script);
  }

  finish(x: Exchange): void {
    this.#bodies.finish(x);
  }

  problem(): string | undefined {
    return this.#current.fpm.problem();
  }

  rows(): readonly ProcessRow[] {
    const { executions } = this;
    const children = this.#all().flatMap(({ pool }) => pool.rows());
    const rows = children.map(({ pid, age, ...row }) => ({ ...this.#row(pid), ...row, uptime_s: seconds(age) }));
    // Those whose client has left run on, and are no child of the pool until they have ended.
    const known = new Set(children.map(({ pid }) => pid));
    const left = [...executions.pids()].filter((pid) => !known.has(pid));
    return [...rows, ...left.map((pid) => ({ ...this.#row(pid), state: "busy" }))];
  }

  #row(pid: number): Pick<ProcessRow, "pid" | "rss" | "id" | "target"> {
    const { id, target } = this.executions.byPid(pid) ?? {};
    return { pid, rss: pid === 0 ? undefined : inspectProcess(pid)?.rss, id, target };
  }

  /**
   * Has another php-fpm take over, with an OPcache of its own, once it is up; requests that run end on the one before. A php-fpm of
   * somebody else is left alone: it looks at the time stamps of files, or its owner reloads it.
   */
  reload(): Promise<void> {
    const reload = this.#reload();
    this.#reloading = reload.catch(() => {});
    return reload;
  }

  async #reload(): Promise<void> {
    const closing = () => new CoreError("PHP_POOL_CLOSED", "The PHP pool is closing; try again", { status: 503 });
    if (this.#options.engine.settings.fastcgi !== undefined) return;
    if (this.#closed) throw closing();
    const next = await FpmRelease.start(this.#options);
    try {
      await next.up();
      if (this.#closed) throw closing();
    } catch (error) {
      await next.close();
      throw error;
    }
    const before = this.#current;
    this.#current = next;
    this.#leaving.add(before);
    void this.#leave(before);
  }

  async #leave(release: FpmRelease): Promise<void> {
    try {
      await release.idle();
      await release.close();
    } catch (error) {
      this.#options.log("error", "the php-fpm before a reload did not end well", { error });
    } finally {
      this.#leaving.delete(release);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#reloading;
    await Promise.all(this.#all().map((release) => release.close()));
  }

  #all(): readonly FpmRelease[] {
    return [this.#current, ...this.#leaving];
  }

  #execution(script: Script, body?: ReceivedBody): Execution {
    return {
      lane: this.#options.lane,
      run: (x) => this.#current.executor.run(x, this.#write(x, script, body?.body), body),
    };
  }

  /** Takes the whole body before anything waits: a slow client holds neither a place in the line nor a process. */
  async #receive(x: Exchange, stream: ReadableStream<Uint8Array>, script: Script): Promise<Execution> {
    const body = await this.#bodies.receive(
      x,
      this.#current.receive(stream),
      (received) => received.body instanceof Uint8Array ? undefined : received,
    );
    return this.#execution(script, body);
  }
}

/** Tenths are enough for people. */
function seconds(ms: number): number {
  return Math.round(ms / 100) / 10;
}
