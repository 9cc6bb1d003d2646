import type { Log } from "../../../core/plugin.ts";
import type { Sample } from "./digests.ts";

export interface SlowLogOptions {
  readonly log: Log;
  /** Name of the database. */
  readonly db: string;
  /** A statement that took as long or longer is slow; 0 is never. */
  readonly thresholdMs: number;
  /** Lines a second; 10 when absent. */
  readonly perSecond?: number;
  /** Monotonic, in ms. */
  readonly now?: () => number;
}

/** Writes one line for each slow statement, and says how many it left out when there are too many. */
export class SlowLog {
  constructor(_options: SlowLogOptions) {}
  /** True when the statement was slow, whether or not a line was written. */
  see(_sample: Sample): boolean {
    return false;
  }
  /** Says what is still unsaid. */
  close(): void {}
}
