import type { ReloadResult, Reloads } from "./contracts/reloads.ts";
import { oneAtATime } from "./one_at_a_time.ts";
import type { Log } from "./plugin.ts";

interface Part {
  reload(): Promise<void>;
  readonly watches: ((path: string) => boolean) | undefined;
}

/** The core's own {@linkcode Reloads}. */
export class ReloadBoard implements Reloads {
  readonly #parts = new Map<string, Part>();
  readonly #listeners: ((result: ReloadResult) => void)[] = [];
  readonly #log: Log;
  #running = 0;
  /** What became of parts since nothing was being reloaded. */
  #outcomes: Record<string, string | undefined> = {};
  /** What changed since a run began may have been read already: whoever asks then gets a whole one after it. */
  readonly run: () => Promise<ReloadResult> = oneAtATime(() => this.#run([...this.#parts.keys()]));

  constructor(log: Log) {
    this.#log = log;
  }

  get running(): boolean {
    return this.#running > 0;
  }

  register(part: string, reload: () => Promise<void>, watches?: (path: string) => boolean): void {
    this.#parts.set(part, { reload, watches });
  }

  one(part: string): Promise<ReloadResult> {
    return this.#run([part]);
  }

  watched(path: string): boolean {
    for (const { watches } of this.#parts.values()) if (watches?.(path)) return true;
    return false;
  }

  onReloaded(told: (result: ReloadResult) => void): void {
    this.#listeners.push(told);
  }

  async #run(parts: readonly string[]): Promise<ReloadResult> {
    const begun = performance.now();
    this.#running++;
    const outcomes = await Promise.all(parts.map(async (part) => {
      try {
        await this.#parts.get(part)?.reload();
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
        parts: parts.join(" "),
      });
    }
    this.#ended(result);
    return result;
  }

  #ended(result: ReloadResult): void {
    Object.assign(this.#outcomes, result);
    if (--this.#running > 0) return;
    const outcomes = this.#outcomes;
    this.#outcomes = {};
    for (const told of this.#listeners) {
      try {
        told(outcomes);
      } catch (error) {
        this.#log("warn", "a listener for reloads failed", { error });
      }
    }
  }
}
