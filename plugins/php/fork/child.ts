import { CoreError } from "../../../core/error.ts";
import type { ReplySink } from "../reply_sink.ts";
import type { WorkerEvents, WorkerExit, WorkerRequest } from "../worker/handle.ts";
import type { Ended } from "./ended.ts";
import type { Identity } from "../../../core/process_identity.ts";
import type { Link, LinkEvents } from "./link.ts";

export interface ChildOptions {
  readonly token: string;
  readonly who: Identity;
  open(events: LinkEvents): Link;
  /** What the system knows of processes. */
  readonly system: {
    alive(who: Identity): boolean;
    kill(who: Identity): boolean;
    /** Ends what an ended process has left in its group. */
    killRest(who: Identity): void;
  };
  /** The last lines its parent wrote to stderr, which it shares. */
  lastWords(): readonly string[];
  onLine(text: string): void;
  /** The process has ended, and its parent has not told: it may sleep, for the signal came when it was about to. */
  wakeParent(): void;
  /** The process is gone. Called once. */
  onOver(child: Child): void;
}

/** Its worker's. */
export type ChildEvents = Pick<WorkerEvents, "onBroken" | "onLine" | "onExit">;

/** How long (ms) a process that has closed its connection may still take to end. */
const endMs = 5000;
/** How long (ms) the rest of an ended process' answer may take to be read. */
const restMs = 500;
/**
 * How long (ms) the parent's word on an end is waited for after the process is gone, as long as there is a parent: more than that one
 * sleeps between two looks of its own, on a machine that is busy.
 */
const reportMs = 3000;

/**
 * One forked process, from its hello to its end. It is no child of ours: that it has ended is told by its parent, and where that
 * one cannot, seen in /proc.
 */
export class Child {
  readonly token: string;
  readonly pid: number;
  readonly #options: ChildOptions;
  readonly #link: Link;
  #events: ChildEvents | undefined;
  #state: "idle" | "running" | "answered" | "over" = "idle";
  #closed = false;
  #paused = false;
  #killed = false;
  /** Its parent is gone: nobody tells of its end. */
  #orphan = false;
  #end: Ended | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: ChildOptions) {
    this.#options = options;
    this.token = options.token;
    this.pid = options.who.pid;
    this.#link = options.open({
      onBroken: (error) => this.#broken(error),
      onLine: (text) => (this.#events === undefined ? options.onLine(text) : this.#events.onLine(text)),
      onAnswered: () => {
        if (this.#state === "running") this.#state = "answered";
        if (this.#end !== undefined) this.#finish();
      },
      onClosed: () => {
        this.#closed = true;
        if (this.#end !== undefined) this.#finish();
        else this.#await();
      },
    });
  }

  /** From now on these hear of it. */
  adopt(events: ChildEvents): void {
    this.#events = events;
  }

  send(request: WorkerRequest, sink: ReplySink): void {
    if (this.#state !== "idle") {
      throw new CoreError("PHP_WORKER_BUSY", "Expected one request for each forked worker", { status: 500 });
    }
    // Bytes may come before it returns.
    this.#state = "running";
    try {
      this.#link.send(request, sink);
    } catch (error) {
      if (this.#state === "running") this.#state = "idle";
      throw error;
    }
  }

  pause(): void {
    this.#paused = true;
    this.#link.pause();
  }

  resume(): void {
    this.#paused = false;
    this.#link.resume();
    // What was left unread has its whole time from now on.
    if (this.#end !== undefined && this.#state === "running") this.#leftovers();
  }

  cancel(): void {
    // Its answer is read again, for nobody.
    this.#paused = false;
    this.#link.cancel();
  }

  stop(): void {
    if (this.#state === "idle" && !this.#closed) this.#link.stop();
  }

  kill(): void {
    if (this.#state === "over") return;
    this.#killed = true;
    this.#options.system.kill(this.#options.who);
    this.#link.destroy();
    this.#closed = true;
    if (this.#end !== undefined) this.#finish();
    else this.#await();
  }

  /** What its parent says of its end. */
  ended(end: Ended): void {
    if (this.#state === "over") return;
    this.#end = end;
    if (this.#closed || this.#state !== "running") return this.#finish();
    // What it wrote last may not have been read yet. Or it died, and something that it has started holds its connection.
    this.#leftovers();
  }

  #leftovers(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      if (this.#paused) return this.#leftovers();
      this.#options.system.killRest(this.#options.who);
      this.#finish();
    }, restMs);
  }

  orphaned(): void {
    this.#orphan = true;
  }

  #broken(error: CoreError): void {
    if (this.#events === undefined) this.kill();
    else this.#events.onBroken(error);
  }

  /** Looks whether the process is gone. */
  #await(): void {
    if (this.#timer !== undefined || this.#state === "over") return;
    const since = performance.now();
    let gone: number | undefined;
    const look = () => {
      const { system, who } = this.#options;
      const now = performance.now();
      const waited = now - since;
      if (gone !== undefined || !system.alive(who)) {
        // Its end may come long after that of its connection: the parent cannot have told before.
        gone ??= now;
        if (this.#orphan || now - gone >= reportMs) return this.#finish();
        this.#options.wakeParent();
      } else if (waited >= endMs && !this.#killed) {
        this.#killed = true;
        system.kill(who);
      }
      this.#timer = setTimeout(look, waited < 50 ? 10 : 50);
    };
    this.#timer = setTimeout(look, this.#orphan ? 0 : 10);
  }

  #finish(): void {
    if (this.#state === "over") return;
    const whole = this.#state === "answered";
    this.#state = "over";
    clearTimeout(this.#timer);
    this.#link.destroy();
    const { code, signal } = this.#end ??
      (this.#killed ? { code: null, signal: "SIGKILL" } : { code: whole ? 0 : null, signal: null });
    const exit: WorkerExit = { code, signal, lastWords: this.#options.lastWords() };
    this.#options.onOver(this);
    this.#events?.onExit(exit);
  }
}
