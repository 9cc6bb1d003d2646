import type { ReloadResult, Reloads } from "./contracts/reloads.ts";
import type { Log } from "./plugin.ts";

/** The core's own {@linkcode Reloads}. */
export class ReloadBoard implements Reloads {
  readonly #parts = new Map<string, () => Promise<void>>();
  readonly #log: Log;
  #running: Promise<ReloadResult> | undefined;
  #next: Promise<ReloadResult> | undefined;

  constructor(log: Log) {
    this.#log = log;
  }

  register(part: string, reload: () => Promise<void>): void {
    this.#parts.set(part, reload);
  }

  run(): Promise<ReloadResult> {
    if (this.#running === undefined) return this.#running = this.#run();
    // What changed since the running one began may have been read already: whoever asks now gets a whole one.
    return this.#next ??= this.#running.then(() => {
      this.#next = undefined;
      return this.#running = this.#run();
    });
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
    this.#running = undefined;
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
