/**
 * Workers that speak the native protocol: those of the package `fairlead/worker`, and FrankenPHP-shaped ones, whose runtime
 * speaks it for them.
 *
 * @module
 */
import { randomBytes } from "node:crypto";
import { CoreError } from "../../../core/error.ts";
import { type Clock, systemClock } from "../fastcgi/clock.ts";
import type { ReplySink } from "../reply_sink.ts";
import type { Scheduling } from "../scheduling.ts";
import type { Launch, Worker, WorkerEvents, WorkerExit, WorkerRequest } from "../worker/handle.ts";
import { type ProcessOptions, type StartedProcess, startProcess } from "../worker/process.ts";
import type { Arrival } from "./arrival.ts";
import type { Command } from "./command.ts";
import type { Conversation } from "./conversation.ts";
import type { Door } from "./door.ts";
import type { LogLine } from "./log_line.ts";

export interface NativeOptions {
  /** What to start: `cliCommand` or `cgiCommand`. */
  readonly command: Command;
  /** Where it connects. One door serves any number of launches whose processes run as one user. */
  readonly door: Door;
  /** The environment, but for what the command and the protocol need (`FAIRLEAD_*`). */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string | undefined;
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
  /** As the kernel has it when absent. */
  readonly scheduling?: Scheduling | undefined;
  /** What the application logs by the protocol; without it, messages are lines like those of its stderr. Must not throw. */
  readonly onLog?: ((line: LogLine, pid: number) => void) | undefined;
  readonly clock?: Clock | undefined;
  /** Starts the process; `startProcess` when absent. */
  readonly start?: ((options: ProcessOptions) => Promise<StartedProcess>) | undefined;
}

/**
 * How long (ms) a process that has closed its connection may take to end by itself, and the last bytes of an ended one to
 * arrive.
 */
const endMs = 500;

/**
 * Starts workers. One is ready when it first asks for a request.
 *
 * `send` may throw `PHP_BODY_TOO_LARGE` (413). A request that is sent to a connection just lost fails with `PHP_WORKER_LEFT`
 * (503), as `unsent`.
 *
 * @example
 * ```ts
 * const door = await openDoor({ software: "fairlead/1.0" });
 * const command = cliCommand((await findPhp("cli")).path, "/srv/app/worker.php");
 * const launch = nativeLaunch({ command, door, env: { PATH: "/usr/bin:/bin", APP_ENV: "prod" } });
 * const worker = launch(events);
 * ```
 */
export function nativeLaunch(options: NativeOptions): Launch {
  return (events) => new NativeWorker(options, events);
}

class NativeWorker implements Worker {
  readonly #events: WorkerEvents;
  readonly #clock: Clock;
  readonly #refuse: () => void;
  #process: StartedProcess | undefined;
  #talk: Conversation | undefined;
  #todo: "stop" | "kill" | undefined;
  /** How it ended; what it wrote before may still be read. */
  #exit: WorkerExit | undefined;
  #over = false;
  #closed = false;
  #untimed: () => void = () => {};

  constructor(options: NativeOptions, events: WorkerEvents) {
    this.#events = events;
    this.#clock = options.clock ?? systemClock;
    const { command, door, cwd, user, scheduling, start = startProcess } = options;
    const token = randomBytes(16).toString("hex");
    this.#refuse = door.expect(token, (arrival) => this.#meet(arrival, options), (error) => {
      if (!this.#over) events.onBroken(error);
    });
    start({
      argv: command.argv,
      env: {
        ...options.env,
        ...command.env,
        FAIRLEAD_SOCKET: door.path,
        FAIRLEAD_TOKEN: token,
        FAIRLEAD_WORKER: "1",
        FAIRLEAD_ISOLATION: "none",
      },
      cwd,
      user,
      scheduling,
      onLine: (text) => void (this.#over || events.onLine(text)),
      onExit: (exit) => this.#onExit(exit),
    }).then((started) => {
      this.#process = started;
      if (this.#todo === "kill") started.kill();
    }, (error) => this.#onExit({ code: 127, signal: null, lastWords: [`it does not run: ${String(error)}`] }));
  }

  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  send(request: WorkerRequest, sink: ReplySink): void {
    if (this.#over) return;
    if (this.#talk === undefined) {
      const text = "Expected a worker that is ready; wait for onReady before each request";
      throw new CoreError("PHP_WORKER_BUSY", text, { status: 500 });
    }
    this.#talk.send(request, sink);
  }

  pause(): void {
    this.#talk?.pause();
  }

  resume(): void {
    this.#talk?.resume();
  }

  cancel(): void {
    this.#talk?.cancel();
  }

  stop(): void {
    this.#todo ??= "stop";
    this.#talk?.stop();
  }

  kill(): void {
    this.#todo = "kill";
    this.#process?.kill();
    // Nothing it wrote counts any more.
    this.#talk?.destroy();
    this.#closed = true;
    if (this.#exit !== undefined) this.#end();
  }

  #meet(arrival: Arrival, options: NativeOptions): void {
    if (this.#over || this.#todo === "kill") return;
    const { onLog } = options;
    if (arrival.role !== undefined) {
      const text = "Expected a worker that answers requests, found one that forks others";
      return this.#events.onBroken(new CoreError("PHP_PROTOCOL", text, { status: 502 }));
    }
    this.#talk = arrival.asChild({
      onReady: () => this.#events.onReady(),
      onStopAsked: () => this.#events.onStopAsked(),
      onBroken: (error) => this.#events.onBroken(error),
      onLine: (text) => this.#events.onLine(text),
      ...(onLog === undefined ? {} : { onLog: (line) => onLog(line, this.pid) }),
      onClosed: (expected) => this.#onClosed(expected),
    });
    // A worker that is to end need not be lent first.
    if (this.#todo === "stop") this.#talk.stop();
    else this.#events.onReady();
  }

  /** Mostly it is ending: how, is told by its exit. */
  #onClosed(expected: boolean): void {
    this.#closed = true;
    this.#untimed();
    if (this.#exit !== undefined) return this.#end();
    // Its shutdown functions run before PHP closes its connections, but not what it runs in a terminate of C.
    if (expected) return;
    this.#untimed = this.#clock.after(endMs, () => {
      const text = "The PHP process closed its connection and went on running; its log may say why";
      if (!this.#over) this.#events.onBroken(new CoreError("PHP_WORKER_LOST", text, { status: 502 }));
    });
  }

  #onExit(exit: WorkerExit): void {
    this.#exit = exit;
    this.#untimed();
    this.#refuse();
    if (this.#talk === undefined || this.#closed) return this.#end();
    this.#talk.drain();
    // What it has started may have inherited its connection.
    this.#untimed = this.#clock.after(endMs, () => this.#end());
  }

  #end(): void {
    if (this.#over) return;
    this.#over = true;
    this.#untimed();
    this.#talk?.destroy();
    this.#events.onExit(this.#exit!);
  }
}
