import type { Clock } from "../../core/clock.ts";
import type { Log } from "../../core/plugin.ts";
import { Sparing } from "../../core/sparing.ts";
import { describeOwner } from "./describe_owner.ts";
import { baseName } from "./name.ts";
import type { BulkheadAsk, BulkheadDenial, BulkheadDenialReason } from "./store.ts";

/** Bulkheads and reasons with lines of their own; those beyond share them, as scripts can make names up. */
const most = 500;

/** Refusals of one bulkhead for one reason. */
interface Refused {
  readonly bulkhead: string;
  readonly reason: BulkheadDenialReason;
  readonly times: number;
  readonly longestMs: number;
}

/**
 * Writes that somebody was refused, why, and who it was: one line a second for each bulkhead (its keys together) and reason, with how
 * many the others were. Who left by himself was not refused.
 */
export class RefusalLog {
  readonly #log: Log;
  readonly #refusals: Sparing<string, Refused>;

  constructor(log: Log, clock: Clock) {
    this.#log = log;
    this.#refusals = new Sparing(
      clock,
      (sum, one) => ({ ...sum, times: sum.times + 1, longestMs: Math.max(sum.longestMs, one.longestMs) }),
      (_kind, rest) => this.#writeRest(rest),
    );
  }

  refused(ask: BulkheadAsk, denial: BulkheadDenial): void {
    const { reason, waitedMs: longestMs } = denial;
    if (reason === "cancelled") return;
    const own = baseName(ask.name);
    const bulkhead = this.#refusals.has(`${own} ${reason}`) || this.#refusals.size < most ? own : "_other";
    this.#refusals.happened(
      `${bulkhead} ${reason}`,
      { bulkhead, reason, times: 1, longestMs },
      () => this.#write(bulkhead, ask, denial),
    );
  }

  /** Writes what has not been told yet. */
  close(): void {
    this.#refusals.close();
  }

  #write(bulkhead: string, ask: BulkheadAsk, { reason, waitedMs, cause }: BulkheadDenial): void {
    this.#log("warn", `Refused at bulkhead ${ask.name}: ${reason}`, {
      bulkhead,
      reason,
      waited_ms: Math.round(waitedMs),
      weight: ask.weight,
      ...describeOwner(ask.owner),
      ...(cause === undefined ? undefined : { cause: cause instanceof Error ? cause.message : String(cause) }),
    });
  }

  #writeRest({ bulkhead, reason, times, longestMs }: Refused): void {
    this.#log(
      "warn",
      `Refused at bulkhead ${bulkhead}: ${reason}, ${times === 1 ? "once more" : `${times} times more`}`,
      {
        bulkhead,
        reason,
        left_out: times,
        longest_wait_ms: Math.round(longestMs),
      },
    );
  }
}
