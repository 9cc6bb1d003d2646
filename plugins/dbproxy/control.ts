import { CoreError } from "../../core/error.ts";
import type { Backend } from "./backend/backend.ts";
import type { Clock } from "./pool/options.ts";

export interface ControlOptions {
  /** When the signal aborts, nothing of the connection may be left. */
  readonly dial: (signal: AbortSignal) => Promise<Backend>;
  readonly clock: Clock;
  /** How long (ms) a task may take, its wait in line and the login included. */
  readonly timeoutMs: number;
}

interface Task {
  readonly work: (backend: Backend) => Promise<void>;
  readonly deadline: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * What the proxy has to say to the server beside the pool, which may be full: over one connection at most, one after the other,
 * however much there is to be said. It is open as long as there is something.
 */
export class ControlConnection {
  readonly #options: ControlOptions;
  readonly #tasks: Task[] = [];
  #running = false;
  #backend: Backend | undefined;
  #abort: AbortController | undefined;
  #closed = false;

  constructor(options: ControlOptions) {
    this.#options = options;
  }

  /**
   * Runs a task in its turn. What it throws is the server's answer, and no harm to the connection where that still lives.
   *
   * @throws CoreError `DB_TIMEOUT`, `DB_CLOSED`; what `dial` or `work` throws
   */
  run(work: Task["work"]): Promise<void> {
    if (this.#closed) return Promise.reject(new CoreError("DB_CLOSED", "The proxy is shutting down"));
    const deadline = this.#options.clock.now() + this.#options.timeoutMs;
    return new Promise((resolve, reject) => {
      this.#tasks.push({ work, deadline, resolve, reject });
      if (!this.#running) void this.#runAll();
    });
  }

  /** Ends what runs, and refuses what waits. */
  close(): void {
    this.#closed = true;
    this.#abort?.abort();
    this.#drop(false);
    for (const { reject } of this.#tasks.splice(0)) reject(new CoreError("DB_CLOSED", "The proxy is shutting down"));
  }

  async #runAll(): Promise<void> {
    this.#running = true;
    for (let task = this.#tasks.shift(); task !== undefined; task = this.#tasks.shift()) {
      await this.#runOne(task).then(task.resolve, task.reject);
      // Who was just answered may have more.
      if (this.#tasks.length === 0) await Promise.resolve();
    }
    this.#running = false;
    this.#drop(true);
  }

  async #runOne({ work, deadline }: Task): Promise<void> {
    const { clock, dial } = this.#options;
    const late = new CoreError("DB_TIMEOUT", "The database did not answer in time on the connection for KILL");
    const left = deadline - clock.now();
    if (left <= 0) throw late;
    const abort = this.#abort = new AbortController();
    const stop = clock.setTimer(left, () => {
      abort.abort();
      this.#drop(false);
    });
    try {
      const backend = this.#backend ??= await dial(abort.signal);
      if (abort.signal.aborted) throw late;
      await work(backend);
    } catch (cause) {
      // After an error of the server it goes on, otherwise nothing is known of it.
      if ((cause as { readonly packet?: unknown }).packet === undefined) this.#drop(false);
      throw abort.signal.aborted && !this.#closed ? late : cause;
    } finally {
      stop();
      this.#abort = undefined;
    }
  }

  #drop(polite: boolean): void {
    this.#backend?.close(polite);
    this.#backend = undefined;
  }
}
