import type { Clock } from "../../../core/clock.ts";
import type { Log } from "../../../core/plugin.ts";
import type { OutagePolicy } from "./host.ts";
import type { Lane } from "./lane.ts";

/** What {@linkcode Reach} needs of its store. */
export interface ReachOptions {
  readonly lanes: ReadonlyMap<string, Lane>;
  readonly clock: Clock;
  readonly policy: OutagePolicy;
  /** How long (ms) Redis may be away before the policy counts. */
  readonly grace: number;
  readonly log: Log | undefined;
}

/** Whether Redis is reached, and since when not: tells lanes and operators. */
export class Reach {
  readonly #options: ReachOptions;
  /** Why it could not connect last, as it was told. */
  #told: string | undefined = undefined;
  #engage: (() => void) | undefined;
  #closed = false;
  /** Whether Redis has been away for longer than the grace. */
  outage = false;

  constructor(options: ReachOptions) {
    this.#options = options;
  }

  up(): void {
    const { log, lanes } = this.#options;
    this.off();
    this.#told = undefined;
    log?.("info", "Connected to Redis for bulkheads");
    this.outage = false;
    for (const lane of lanes.values()) lane.up();
  }

  /** An attempt to connect has failed. It is tried again and again: the same reason is told once. */
  refused(cause: unknown): void {
    const { log, lanes } = this.#options;
    for (const lane of lanes.values()) lane.refused();
    this.#away();
    const reason = reasonOf(cause);
    if (reason === this.#told) return;
    this.#told = reason;
    log?.("warn", "Cannot connect to Redis for bulkheads; trying again", { cause: reason });
  }

  down(cause: unknown): void {
    const { log, policy } = this.#options;
    if (!this.#closed) {
      log?.("warn", "Lost the connection to Redis for bulkheads", { cause: reasonOf(cause), policy });
    }
    this.#away();
  }

  /** There is no connection. The grace begins when the first attempt has failed: until then it is not known that there is none. */
  #away(): void {
    const { clock, grace, lanes } = this.#options;
    for (const lane of lanes.values()) lane.down();
    if (this.#closed) return;
    this.#engage ??= clock.setTimer(grace, () => {
      this.outage = true;
      for (const lane of lanes.values()) lane.outage();
    });
  }

  /** That there is no connection is in order from now on. */
  close(): void {
    this.#closed = true;
  }

  /** Stops the clock of the grace. */
  off(): void {
    this.#engage?.();
    this.#engage = undefined;
  }
}

/** What ended a connection, in words: some errors have only a code, and an orderly end has none. */
export function reasonOf(cause: unknown): string {
  if (cause === undefined) return "it closed the connection";
  if (!(cause instanceof Error)) return String(cause);
  return cause.message || String((cause as Error & { readonly code?: unknown }).code ?? cause.name);
}
