import type { Clock } from "../../core/clock.ts";
import type { Log } from "../../core/plugin.ts";
import { describeOwner } from "./describe_owner.ts";
import { baseName } from "./name.ts";
import type { BulkheadAsk, BulkheadDenial } from "./store.ts";

/** Time (ms) between two lines of one bulkhead and reason. */
const everyMs = 1000;
/** Bulkheads and reasons with lines of their own; those beyond share them, as scripts can make names up. */
const most = 500;

/** Refusals of one bulkhead for one reason since its last line. */
interface Quiet {
  readonly bulkhead: string;
  readonly reason: string;
  more: number;
  longestMs: number;
  off: () => void;
}

/**
 * Writes that somebody was refused, and why: the first at once, what follows within a second as a number at its end, for each
 * bulkhead (its keys together) and reason. Who left by himself was not refused.
 */
export class RefusalLog {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #quiet = new Map<string, Quiet>();

  constructor(log: Log, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  refused(ask: BulkheadAsk, { reason, waitedMs, cause }: BulkheadDenial): void {
    if (reason === "cancelled") return;
    let bulkhead = baseName(ask.name);
    let quiet = this.#quiet.get(`${bulkhead} ${reason}`);
    if (quiet === undefined && this.#quiet.size >= most) {
      bulkhead = "_other";
      quiet = this.#quiet.get(`${bulkhead} ${reason}`);
    }
    if (quiet !== undefined) {
      quiet.more++;
      quiet.longestMs = Math.max(quiet.longestMs, waitedMs);
      return;
    }
    this.#log("warn", `Refused at bulkhead ${ask.name}: ${reason}`, {
      bulkhead,
      reason,
      waited_ms: Math.round(waitedMs),
      weight: ask.weight,
      ...describeOwner(ask.owner),
      ...(cause === undefined ? undefined : { cause: cause instanceof Error ? cause.message : String(cause) }),
    });
    this.#hush({ bulkhead, reason, more: 0, longestMs: 0, off: () => {} });
  }

  /** Writes what has not been told yet. */
  close(): void {
    for (const quiet of this.#quiet.values()) {
      quiet.off();
      this.#tell(quiet);
    }
    this.#quiet.clear();
  }

  #hush(quiet: Quiet): void {
    const key = `${quiet.bulkhead} ${quiet.reason}`;
    this.#quiet.set(key, quiet);
    quiet.off = this.#clock.setTimer(everyMs, () => {
      this.#quiet.delete(key);
      if (!this.#tell(quiet)) return;
      this.#hush({ ...quiet, more: 0, longestMs: 0 });
    });
  }

  /** Whether there was something to tell. */
  #tell({ bulkhead, reason, more, longestMs }: Quiet): boolean {
    if (more === 0) return false;
    const times = more === 1 ? "once more" : `${more} times more`;
    this.#log("warn", `Refused at bulkhead ${bulkhead}: ${reason}, ${times}`, {
      bulkhead,
      reason,
      left_out: more,
      longest_wait_ms: Math.round(longestMs),
    });
    return true;
  }
}
