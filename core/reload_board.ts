import type { ReloadResult, Reloads } from "./contracts/reloads.ts";
import { oneAtATime } from "./one_at_a_time.ts";
import type { Log } from "./plugin.ts";

/** The core's own {@linkcode Reloads}. */
export class ReloadBoard implements Reloads {
  readonly #parts = new Map<string, () => Promise<void>>();
  readonly #log: Log;
  /** What changed since a run began may have been read already: whoever asks then gets a whole one after it. */
  readonly run: () => Promise<ReloadResult> = oneAtATime(() => this.#run());

  constructor(log: Log) {
    this.#log = log;
  }

  register(part: string, reload: () => Promise<void>): void {
    this.#parts.set(part, reload);
  }

  async #run(): Promise<ReloadResult> {
    const begun = performance.now();
    const outcomes = await Promise.all([...this.#parts].map(async ([part, reload]) => {
      try {
        await reload();
        return [part, undefined] as const;
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        this.#log("error", `reload of ${part} failed: ${why}`);
        return [part, why] as const;
      }
    }));
    const result = Object.fromEntries(outcomes);
    if (outcomes.every(([, why]) => why === undefined)) {
      this.#log("info", "reloaded", {
        ms: Math.round(performance.now() - begun),
        parts: Object.keys(result).join(" "),
      });
    }
    return result;
  }
}
