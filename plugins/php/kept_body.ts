import type { Disposable } from "./executor.ts";
import type { Kept } from "./worker/handle.ts";

/**
 * The files of a body, until nobody needs them: neither the run that waits for the answer, which begins with a hold of its own,
 * nor a worker whose script goes on behind it.
 */
export class KeptBody implements Disposable, Kept {
  readonly #files: Disposable;
  #holds = 1;
  #run = true;

  constructor(files: Disposable) {
    this.#files = files;
  }

  hold(): void {
    this.#holds++;
  }

  release(): void {
    if (--this.#holds === 0) this.#files.dispose();
  }

  /** The run's. */
  dispose(): void {
    if (!this.#run) return;
    this.#run = false;
    this.release();
  }
}
