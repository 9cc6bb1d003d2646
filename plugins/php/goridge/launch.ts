/**
 * Workers that speak Goridge over their stdin and stdout, as those written for RoadRunner do: any `spiral/roadrunner-http`
 * worker, and so Laravel Octane's and Symfony's for it.
 *
 * @module
 */
import process from "node:process";
import { CoreError } from "../../../core/error.ts";
import { type Clock, systemClock } from "../fastcgi/clock.ts";
import type { ReplySink } from "../reply_sink.ts";
import type { Scheduling } from "../scheduling.ts";
import type { Launch, Worker, WorkerEvents, WorkerExit, WorkerRequest } from "../worker/handle.ts";
import { type StartedProcess, startProcess } from "../worker/process.ts";
import { type FrameBody, frameBody } from "./body.ts";
import { requestContext } from "./context.ts";
import { Conversation, type Trust } from "./conversation.ts";
import { notRun } from "./errors.ts";
import { type EncodedRequest, encodeRequest, placeBody, readBody } from "./request.ts";
import { StrayOutput } from "./stray_output.ts";

export interface GoridgeOptions {
  /** The worker script. */
  readonly script: string;
  /** The PHP program, of the command line; `php` when absent. */
  readonly php?: string | undefined;
  /** Arguments for PHP, before the script: `-d`, `memory_limit=512M`. */
  readonly args?: readonly string[] | undefined;
  /** Arguments for the script. */
  readonly scriptArgs?: readonly string[] | undefined;
  /** The environment, but for what the protocol needs (`RR_MODE`, `RR_RELAY`, `RR_VERSION`), which it may set too. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string | undefined;
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
  /** As the kernel has it when absent. */
  readonly scheduling?: Scheduling | undefined;
  /** How contexts are written; `auto`, which is JSON, when absent. Answers may be in either. */
  readonly codec?: "auto" | "json" | "proto" | undefined;
  /** Bytes a body in a file may have, which is read into memory when it is sent; 64 MiB when absent. */
  readonly maxBody?: number | undefined;
  /**
   * Which requests are sent behind a question that shows whose answer an answer is: those where it may matter (see
   * `Conversation`), or all; `auto` when absent.
   */
  readonly fence?: "auto" | "always" | undefined;
  /** What goes with a request as its attributes, which PSR-7 workers find there. */
  attributes?(request: WorkerRequest): Readonly<Record<string, string>>;
  /** How long (ms) a stream may go on after its client has left, before its process is ended; 1000 when absent. */
  readonly stopGraceMs?: number | undefined;
  /**
   * How often (ms) an idle worker is asked for its pid; 15,000 when absent. Where its stdin is a socket, as on Bun, PHP ends a read that
   * has waited for `default_socket_timeout` (60 s), and the worker dies of it: this must be less.
   */
  readonly keepAwakeMs?: number | undefined;
  readonly clock?: Clock | undefined;
}

/** What workers are told of the version of the protocol's other side. */
const version = "2024.3.0";
/** How long (ms) the last bytes of an ended process are waited for. */
const lastBytesMs = 500;

/**
 * Starts workers of a script. A worker is ready when it first waits for a request.
 *
 * `send` may throw `PHP_BODY_TOO_LARGE` (413) and `FORM_NAMES_CLASH` (400). A request may fail with `PHP_WORKER_ERROR` (500):
 * the worker said so, and is ready again; or with `PHP_WORKER_LEFT` (503) and `unsent`: it has not begun with it, and
 * another worker may be asked.
 *
 * @example
 * ```ts
 * const launch = goridgeLaunch({ script: "/srv/app/worker.php", env: { PATH: "/usr/bin:/bin", APP_ENV: "prod" } });
 * const worker = launch(events);
 * ```
 */
export function goridgeLaunch(options: GoridgeOptions): Launch {
  const trust = { fenced: options.fence === "always" };
  return (events) => new GoridgeWorker(options, trust, events);
}

class GoridgeWorker implements Worker {
  readonly #options: GoridgeOptions;
  readonly #trust: Trust;
  readonly #events: WorkerEvents;
  readonly #clock: Clock;
  #process: StartedProcess | undefined;
  #talk: Conversation | undefined;
  #todo: "stop" | "kill" | undefined;
  #over = false;
  /** The request whose body is being read from its file. */
  #reading: { readonly sink: ReplySink } | undefined;
  #paused = false;
  #stray: StrayOutput | undefined;
  #sleep: () => void = () => {};

  constructor(options: GoridgeOptions, trust: Trust, events: WorkerEvents) {
    this.#options = options;
    this.#trust = trust;
    this.#events = events;
    this.#clock = options.clock ?? systemClock;
    const { php = "php", args = [], scriptArgs = [], script, env, cwd, user, scheduling } = options;
    startProcess({
      // Warnings of PHP's own, before the library takes care of output, must not get between the frames.
      argv: [php, "-d", "display_errors=stderr", ...args, script, ...scriptArgs],
      env: { RR_MODE: "http", RR_RELAY: "pipes", RR_VERSION: version, ...env },
      cwd,
      user,
      scheduling,
      pipes: true,
      onLine: (text) => events.onLine(text),
      onExit: (exit) => this.#onExit(exit),
    }).then((started) => this.#started(started), (error) => {
      this.#end({ code: 127, signal: null, lastWords: [`it does not run: ${String(error)}`] });
    });
  }

  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  #started(started: StartedProcess): void {
    this.#process = started;
    if (this.#over || started.pid === 0) return;
    if (this.#todo === "kill") return started.kill();
    const { stdin, stdout } = started;
    const events = this.#events;
    this.#talk = new Conversation({
      write: (bytes) => void stdin!.write(bytes),
      onReady: () => {
        this.resume();
        events.onReady();
      },
      onStopAsked: () => events.onStopAsked(),
      onBroken: (error, stray) => this.#onBroken(error, stray),
      onLine: (text) => events.onLine(text),
      onStuck: () => started.kill(),
    }, {
      pid: started.pid,
      hostPid: process.pid,
      stopGraceMs: this.#options.stopGraceMs ?? 1000,
      trust: this.#trust,
      clock: this.#clock,
    });
    stdout!.on("data", (chunk: Uint8Array) => {
      if (this.#over) return;
      if (this.#stray === undefined) this.#talk!.data(chunk);
      else this.#stray.push(chunk);
    });
    stdout!.on("error", () => {});
    if (this.#todo === "stop") this.#talk.stop();
    this.#keepAwake();
  }

  #keepAwake(): void {
    this.#sleep = this.#clock.after(this.#options.keepAwakeMs ?? 15_000, () => {
      // One whose body is being read is about to be sent its request.
      if (this.#reading === undefined) this.#talk!.keepAwake();
      this.#keepAwake();
    });
  }

  send(request: WorkerRequest, sink: ReplySink): void {
    if (this.#over) return;
    if (this.#talk?.idle !== true || this.#reading !== undefined) {
      throw new CoreError("PHP_WORKER_BUSY", "Expected a worker that is ready; wait for onReady before each request", {
        status: 500,
      });
    }
    const { codec, maxBody = 64 * 1024 * 1024, attributes } = this.#options;
    const body = frameBody(request.x.method, request.body);
    if (!(body.source instanceof Uint8Array) && body.length > maxBody) {
      throw new CoreError(
        "PHP_BODY_TOO_LARGE",
        `Expected a body of at most ${maxBody} bytes for a Goridge worker, which gets it in one piece, found ${body.length}`,
        { status: 413 },
      );
    }
    const context = requestContext(request.x, body, attributes?.(request));
    const encoded = encodeRequest(codec === "proto" ? "proto" : "json", context, body.length);
    if (placeBody(encoded, body)) this.#talk.send(encoded.bytes, sink);
    else void this.#sendFile(encoded, body, sink);
  }

  async #sendFile(encoded: EncodedRequest, body: FrameBody, sink: ReplySink): Promise<void> {
    const reading = this.#reading = { sink };
    let failure: CoreError | undefined;
    try {
      await readBody(encoded, (body.source as { readonly path: string }).path);
    } catch (error) {
      failure = error as CoreError;
    }
    const cancelled = this.#reading !== reading;
    this.#reading = undefined;
    if (this.#over) return;
    if (!this.#talk!.idle) {
      // It was stopped, or broke, meanwhile.
      if (!cancelled) sink.onFail(notRun("ended"), "unsent");
    } else if (cancelled || failure !== undefined) {
      if (!cancelled) sink.onFail(failure!, "unsent");
      this.#events.onReady();
    } else this.#talk!.send(encoded.bytes, sink);
  }

  pause(): void {
    if (this.#over || this.#paused) return;
    this.#paused = true;
    this.#process?.stdout?.pause();
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    if (!this.#over) this.#process?.stdout?.resume();
  }

  cancel(): void {
    if (this.#over) return;
    if (this.#reading !== undefined) this.#reading = cancelledReading;
    this.#talk?.cancel();
    this.resume();
  }

  stop(): void {
    this.#todo ??= "stop";
    if (!this.#over) this.#talk?.stop();
  }

  /** The sink of a running request hears nothing more. */
  kill(): void {
    this.#todo = "kill";
    if (this.#reading !== undefined) this.#reading = cancelledReading;
    this.#talk?.mute();
    this.#process?.kill();
  }

  #onBroken(error: CoreError, bytes: Uint8Array | undefined): void {
    if (bytes === undefined) return this.#events.onBroken(error);
    this.#stray = new StrayOutput(this.#clock, this.#events);
    this.#stray.push(bytes);
  }

  /** What it wrote before it ended may still be on its way. */
  #onExit(exit: WorkerExit): void {
    const stdout = this.#process?.stdout;
    if (stdout === undefined || stdout.readableEnded || stdout.destroyed) return this.#end(exit);
    const untimed = this.#clock.after(lastBytesMs, () => this.#end(exit));
    stdout.once("close", () => {
      untimed();
      this.#end(exit);
    });
    stdout.resume();
  }

  #end(exit: WorkerExit): void {
    if (this.#over) return;
    this.#sleep();
    this.#stray?.tell();
    if (this.#reading !== undefined && this.#reading !== cancelledReading) {
      this.#reading.sink.onFail(notRun("ended"), "unsent");
    }
    this.#talk?.end();
    this.#over = true;
    this.#events.onExit(exit);
  }
}

const cancelledReading = { sink: undefined as unknown as ReplySink };
