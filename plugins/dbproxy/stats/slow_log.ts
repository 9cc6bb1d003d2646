import type { Log } from "../../../core/plugin.ts";
import type { Sample } from "./digests.ts";
import { shorten } from "./shorten.ts";

export interface SlowLogOptions {
  readonly log: Log;
  /** Name of the database. */
  readonly db: string;
  /** A statement that took as long or longer is slow; 0 is never. */
  readonly thresholdMs: number;
  /** Most lines in a second; 10 when absent. */
  readonly perSecond?: number;
  /** Runs something in so many ms; returns what takes it back. */
  readonly later?: (ms: number, run: () => void) => () => void;
}

const systemLater = (ms: number, run: () => void): () => void => {
  const timer = setTimeout(run, ms);
  timer.unref();
  return () => clearTimeout(timer);
};

/**
 * Writes one line for each slow statement, with its normalised text: values stay out of the log. When there are too
 * many, says how many it left out.
 */
export class SlowLog {
  readonly #log: Log;
  readonly #db: string;
  readonly #threshold: number;
  readonly #perSecond: number;
  readonly #later: (ms: number, run: () => void) => () => void;
  /** Lines of the second that runs. */
  #lines = 0;
  #dropped = 0;
  #stop: (() => void) | undefined;

  constructor({ log, db, thresholdMs, perSecond = 10, later = systemLater }: SlowLogOptions) {
    this.#log = log;
    this.#db = db;
    this.#threshold = thresholdMs > 0 ? thresholdMs : Infinity;
    this.#perSecond = perSecond;
    this.#later = later;
  }

  /** Whether a statement that took so long is slow. */
  isSlow(ms: number): boolean {
    return ms >= this.#threshold;
  }

  /** Returns whether the statement was slow, be a line written or not. */
  see(sample: Sample): boolean {
    if (!this.isSlow(sample.ms)) return false;
    this.#stop ??= this.#later(1000, () => this.#tellDropped());
    if (this.#lines >= this.#perSecond) {
      this.#dropped++;
      return true;
    }
    this.#lines++;
    const { hash, ms, rows, bytes, schema, requestId, error } = sample;
    this.#log("warn", `slow query: ${shorten(sample.text(), 500)}`, {
      db: this.#db,
      digest: hash,
      ms: Math.round(ms * 10) / 10,
      rows,
      bytes,
      schema: schema === "" ? undefined : schema,
      id: requestId,
      error: error ? true : undefined,
    });
    return true;
  }

  /** Says what is still unsaid. */
  close(): void {
    this.#stop?.();
    this.#tellDropped();
  }

  #tellDropped(): void {
    this.#stop = undefined;
    this.#lines = 0;
    const dropped = this.#dropped;
    this.#dropped = 0;
    if (dropped > 0) this.#log("warn", `${dropped} more slow queries were not logged`, { db: this.#db, dropped });
  }
}
