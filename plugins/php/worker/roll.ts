import type { CoreError } from "../../../core/error.ts";
import type { Generation } from "./boots.ts";

/** Failures in a row after which a reload is given up: what was wrong then is wrong in the script. */
const attempts = 3;

/** One reload: workers of a new generation take the places of the older ones, one by one. */
export class Roll {
  readonly generation: Generation;
  readonly done: Promise<void>;
  /** A worker of the new generation has booted: from here on the pool boots no others. */
  committed = false;
  /** Since when a successor waits for an old worker that is at work. */
  blockedSince: number | undefined;
  #settle!: { readonly resolve: () => void; readonly reject: (error: CoreError) => void };

  constructor(generation: Generation) {
    this.generation = generation;
    this.done = new Promise((resolve, reject) => this.#settle = { resolve, reject });
  }

  /** Whether a boot that failed ends the reload. */
  givesUp(timedOut: boolean): boolean {
    return timedOut || this.generation.boots.failures >= attempts;
  }

  resolve(): void {
    this.#settle.resolve();
  }

  reject(error: CoreError): void {
    this.#settle.reject(error);
  }
}
