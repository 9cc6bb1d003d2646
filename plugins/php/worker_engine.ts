import type { Gate } from "../../core/contracts/gates.ts";
import type { Executions } from "../../core/contracts/executions.ts";
import type { Exchange } from "../../core/exchange.ts";
import { answer } from "../../core/http/answers.ts";
import type { Awaitable, Execution, Log } from "../../core/plugin.ts";
import type { PoolSettings } from "./config.ts";
import { Bodies } from "./bodies.ts";
import type { Engine, PoolFigures, ProcessRow } from "./engine.ts";
import { type Disposable, PhpExecutor } from "./executor.ts";
import { receiveRequest } from "./forms/receive.ts";
import { KeptBody } from "./kept_body.ts";
import type { PhpCounts } from "./metrics.ts";
import type { Script } from "./resolve.ts";
import type { RequestBody } from "./worker/body.ts";
import type { WorkerRequest } from "./worker/handle.ts";
import { inspectProcess } from "./worker/inspect.ts";
import { LineWait } from "./worker/line_wait.ts";
import { WorkerPool } from "./worker/pool.ts";
import { describeCrash } from "./worker/report.ts";
import { type Generation, type Launcher, makeLauncher } from "./worker_launch.ts";
import { makeEmbedLauncher } from "./embed/launcher.ts";
import type { FormLimits } from "./forms/limits.ts";

/** Request bodies up to this size (bytes) are kept in memory until PHP takes them. */
const bodyInMemory = 131_072;

/** Workers that did not boot, in a row, after which requests are turned away at once. */
const hopeless = 3;

/** How long (ms) workers may take to end when the pool closes: the rest is killed. */
const closeMs = 5_000;

export interface WorkerEngineOptions {
  readonly settings: PoolSettings;
  readonly lane: string;
  readonly workers: number;
  readonly baseDir: string;
  readonly software: string;
  readonly maxBody: number;
  readonly count: PhpCounts;
  readonly log: Log;
  /** The gate of the lane, made when it is first needed; undefined where nothing admits. */
  gate(): Gate | undefined;
}

/** A pool of workers: PHP processes that boot the application once. */
export class WorkerEngine implements Engine {
  readonly #options: WorkerEngineOptions;
  readonly #launcher: Launcher;
  readonly #pool: WorkerPool;
  readonly #executor: PhpExecutor<WorkerRequest>;
  readonly #bodies = new Bodies();
  readonly #line = new LineWait(() => performance.now());
  readonly #limits: Partial<FormLimits>;
  /** Those that workers may be there of, and those that still end. */
  readonly #generations = new Set<Generation>();
  readonly #retiring = new Set<Promise<void>>();

  private constructor(options: WorkerEngineOptions, launcher: Launcher) {
    const { settings, count, log, lane } = options;
    this.#options = options;
    this.#launcher = launcher;
    this.#limits = formLimits(settings.ini);
    const first = launcher.begin();
    this.#generations.add(first);
    const forks = settings.isolation === "fork";
    this.#pool = new WorkerPool({
      launch: first.launch,
      size: options.workers,
      bootTimeout: settings.boot_timeout,
      maxMemory: settings.max_memory,
      hardMemory: settings.hard_memory,
      inspect: inspectProcess,
      ttl: settings.ttl,
      idleTtl: settings.idle_ttl,
      // A forked worker answers one request: there is one more ready for each that is at work.
      ...(forks
        ? { maxRequests: 1, jitter: 0, spares: options.workers, bootsAtOnce: 2 * options.workers }
        : { maxRequests: settings.max_requests }),
      ...(settings.max_concurrency > options.workers
        ? { scale: { max: settings.max_concurrency, line: () => this.#lookAtLine() } }
        : {}),
      onSize: (size) => options.gate()?.resize(size),
      onFreed: (pid) => this.#executor.freed(pid),
      onRestart: (reason) => count.restarted(reason),
      onCrash: (report) => {
        const { pid, reason, exit, lastTarget: target } = report;
        const stderr = exit?.lastWords.join("\n");
        log("error", describeCrash(report), { pool: lane, pid, reason, target, ...(stderr ? { stderr } : {}) });
      },
      onLine: (pid, text, request) => {
        if (text.trim() === "") return;
        log(request === undefined ? "info" : "warn", text.trim(), {
          pool: lane,
          pid,
          ...(request === undefined ? {} : { id: request.x.id, target: request.x.target }),
        });
      },
    });
    this.#executor = new PhpExecutor({
      pool: this.#pool,
      onStderr: (x, pid, text) => log("warn", text.trim(), { pool: lane, id: x.id, pid, target: x.target }),
      onEnd: (end, ms) => count.ended(end, ms),
    });
  }

  /** With `embed`, processes that have PHP within them and run each request anew; else workers. */
  static async start(options: WorkerEngineOptions, embed = false): Promise<WorkerEngine> {
    const launcher = await (embed ? makeEmbedLauncher : makeLauncher)(options);
    try {
      const engine = new WorkerEngine(options, launcher);
      engine.#pool.start();
      return engine;
    } catch (error) {
      launcher.close();
      throw error;
    }
  }

  get figures(): PoolFigures {
    return this.#pool;
  }

  get executions(): Executions {
    return this.#executor;
  }

  execution(x: Exchange, script: Script): Awaitable<Execution | Response> {
    // While no worker boots there is nothing to stand in line for.
    if (this.#pool.alive === 0 && this.#pool.bootFailures >= hopeless) return answer(503, { "retry-after": "5" });
    const stream = x.body;
    return stream === null ? this.#execution(script, undefined) : this.#receive(x, stream, script);
  }

  finish(x: Exchange): void {
    this.#bodies.finish(x);
  }

  problem(): string | undefined {
    return this.#pool.problem();
  }

  rows(): readonly ProcessRow[] {
    return this.#pool.rows().map(({ pid, state, requests, uptime, rss, id, target }) => ({
      pid,
      state,
      requests,
      uptime_s: Math.round(uptime / 100) / 10,
      rss,
      id,
      target,
    }));
  }

  async reload(): Promise<void> {
    const next = this.#launcher.begin();
    this.#generations.add(next);
    try {
      await this.#pool.reload(next.launch);
    } finally {
      this.#retireUnused();
    }
  }

  /** What still runs when the server has drained gets a little time to end by itself. */
  async close(): Promise<void> {
    const hurry = setTimeout(() => void this.#pool.close(false), closeMs);
    await this.#pool.close(true);
    clearTimeout(hurry);
    for (const generation of this.#generations) this.#retire(generation);
    let late: ReturnType<typeof setTimeout> | undefined;
    // What hangs in the kernel ends when the kernel lets it.
    await Promise.race([Promise.all(this.#retiring), new Promise((done) => late = setTimeout(done, closeMs))]);
    clearTimeout(late);
    this.#executor.close();
    this.#launcher.close();
  }

  /** A reload that stopped half-way has left workers of both: what counts is what the pool uses. */
  #retireUnused(): void {
    for (const generation of this.#generations) if (!this.#pool.uses(generation.launch)) this.#retire(generation);
  }

  #retire(generation: Generation): void {
    this.#generations.delete(generation);
    const over: Promise<void> = generation.retire()
      .catch((error) => this.#options.log("error", "PHP workers did not end well", { error }))
      .then(() => void this.#retiring.delete(over));
    this.#retiring.add(over);
  }

  #lookAtLine(): { queued: number; waitMs: number } {
    const queued = this.#options.gate()?.queued ?? 0;
    return { queued, waitMs: this.#line.look(queued) };
  }

  #execution(script: Script, received: Received | undefined): Execution {
    const { body, kept } = received ?? {};
    return {
      lane: this.#options.lane,
      run: (x) => {
        this.#line.letIn();
        return this.#executor.run(x, { x, script, body, kept }, kept);
      },
    };
  }

  /** Takes the whole body before anything waits: a slow client holds neither a place in the line nor a worker. */
  async #receive(x: Exchange, stream: ReadableStream<Uint8Array>, script: Script): Promise<Execution> {
    const { folder, user, protocol } = this.#launcher;
    const receiving = receiveRequest(stream, x.headers, {
      memory: bodyInMemory,
      dir: folder.bodies,
      owner: user,
      forms: protocol === "goridge" || x.method === "POST",
      limits: this.#limits,
    }).then((received): Received => {
      // Bytes in memory need no end.
      const kept = received.body.kind === "bytes" ? undefined : new KeptBody(received);
      return { body: received.body, kept, dispose: () => kept?.dispose() };
    });
    return this.#execution(script, await this.#bodies.receive(x, receiving, ({ kept }) => kept));
  }
}

interface Received extends Disposable {
  readonly body: RequestBody;
  readonly kept: KeptBody | undefined;
}

/** What PHP's own settings say of forms, where the configuration sets them. */
function formLimits(ini: PoolSettings["ini"]): Partial<FormLimits> {
  const names = {
    max_input_vars: "maxInputVars",
    max_file_uploads: "maxFileUploads",
    upload_max_filesize: "uploadMaxFilesize",
    max_multipart_body_parts: "maxMultipartBodyParts",
    post_max_size: "postMaxSize",
  } as const;
  const limits: { -readonly [K in keyof FormLimits]?: number } = {};
  for (const [name, limit] of Object.entries(names) as [keyof typeof names, keyof FormLimits][]) {
    const bytes = phpBytes(ini[name]);
    if (bytes !== undefined) limits[limit] = bytes;
  }
  return limits;
}

/** `8M` as PHP reads it. */
function phpBytes(value: string | number | boolean | undefined): number | undefined {
  const match = /^\s*(-?\d+)\s*([kmg])?\s*$/i.exec(String(value ?? ""));
  if (match === null) return undefined;
  return Number(match[1]) * 1024 ** " kmg".indexOf((match[2] ?? " ").toLowerCase());
}
