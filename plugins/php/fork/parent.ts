import { CoreError } from "../../../core/error.ts";
import type { WorkerExit } from "../worker/handle.ts";
import { type ProcessOptions, type StartedProcess, startProcess } from "../worker/process.ts";
import { decodeEnded, type Ended } from "./ended.ts";
import type { Arrival, Door, ParentLink } from "./link.ts";
import type { Parent } from "./nursery.ts";

export interface ParentOptions {
  readonly process: Pick<ProcessOptions, "argv" | "env" | "cwd" | "user" | "scheduling">;
  readonly door: Door;
  readonly token: string;
}

export interface ParentProcessEvents {
  onUp(): void;
  onArrival(token: string, arrival: Arrival): void;
  onEnded(end: Ended): void;
  onLog(level: number, text: string): void;
  onLine(text: string): void;
  /** What it sent makes no sense; it has been killed. */
  onBroken(error: CoreError): void;
  onGone(exit: WorkerExit): void;
}

const type = { stop: 6, fork: 8, log: 9, ended: 10 } as const;

/** How long (ms) a parent that has closed its connection may still take to end. */
const endMs = 2000;
/** How long (ms) what an ended parent has said last may take to be read. */
const restMs = 500;

/** The process that boots and forks. */
export class ParentProcess implements Parent {
  readonly #door: Door;
  readonly #events: ParentProcessEvents;
  #process: StartedProcess | undefined;
  #link: ParentLink | undefined;
  #killed = false;
  #gone = false;
  /** Its connection is. */
  #closed = false;
  #late: ReturnType<typeof setTimeout> | undefined;
  readonly #waiting = new Map<string, () => void>();
  readonly words: string[] = [];

  constructor(options: ParentOptions, events: ParentProcessEvents) {
    const { door, token } = options;
    this.#door = door;
    this.#events = events;
    const refuse = door.expect(token, (arrival) => {
      if (this.#killed || this.#gone) return;
      this.#link = arrival.asParent({
        onFrame: (kind, payload) => this.#frame(kind, payload),
        onClosed: () => {
          if (this.#gone) return over?.();
          this.#closed = true;
          this.#late = setTimeout(() => this.kill(), endMs);
        },
      });
      if (arrival.role !== "parent") {
        return this.#broken("it connected as a worker, not as a parent: it does not know of FAIRLEAD_ISOLATION=fork");
      }
      events.onUp();
    }, (error) => this.#broken(error.message));
    let over: (() => void) | undefined;
    const gone = (exit: WorkerExit) => {
      this.#gone = true;
      clearTimeout(this.#late);
      refuse();
      over = () => {
        over = undefined;
        clearTimeout(this.#late);
        this.#link?.destroy();
        for (const forget of this.#waiting.values()) forget();
        events.onGone(exit);
      };
      // How its last children ended may not have been read yet.
      if (this.#link === undefined || this.#closed) over();
      else this.#late = setTimeout(over, restMs);
    };
    const env = {
      // Its heap in huge pages, where the system gives them: a fork copies the list of pages.
      USE_ZEND_ALLOC_HUGE_PAGES: "1",
      ...options.process.env,
      FAIRLEAD_SOCKET: door.path,
      FAIRLEAD_TOKEN: token,
      FAIRLEAD_WORKER: "1",
      FAIRLEAD_ISOLATION: "fork",
    };
    startProcess({
      ...options.process,
      env,
      onLine: (text) => {
        if (this.words.push(text) > 20) this.words.shift();
        events.onLine(text);
      },
      onExit: gone,
    }).then((started) => {
      this.#process = started;
      if (this.#killed) started.kill();
    }, (error) => gone({ code: null, signal: null, lastWords: [String(error)] }));
  }

  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  fork(token: string): void {
    this.#waiting.set(
      token,
      this.#door.expect(token, (arrival) => {
        this.#waiting.delete(token);
        this.#events.onArrival(token, arrival);
      }),
    );
    this.#link?.write(type.fork, new TextEncoder().encode(token));
  }

  /** Its hello is refused. */
  forget(token: string): void {
    this.#waiting.get(token)?.();
    this.#waiting.delete(token);
  }

  stop(): void {
    this.#link?.write(type.stop, new Uint8Array(0));
  }

  /**
   * Has it look whether children have ended. The signal that says so is lost on it between its last look and its sleep; the same
   * signal again ends the sleep.
   */
  wake(): void {
    this.#process?.signal("SIGCHLD");
  }

  kill(): void {
    this.#killed = true;
    this.#process?.kill();
  }

  #frame(kind: number, payload: Uint8Array): void {
    if (kind === type.ended) {
      const end = decodeEnded(payload);
      if (end !== undefined) return this.#events.onEnded(end);
    } else if (kind === type.log && payload.length > 0) {
      const [text = ""] = new TextDecoder().decode(payload.subarray(1)).split("\0");
      return this.#events.onLog(payload[0]!, text);
    }
    this.#broken(`a parent sent a frame of type ${kind}`);
  }

  #broken(why: string): void {
    this.#events.onBroken(
      new CoreError("PHP_PROTOCOL", `The PHP process ${this.pid} broke the worker protocol: ${why}`),
    );
    this.kill();
  }
}
