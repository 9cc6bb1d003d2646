/** The end of one execution, and what others want done then. */
export class Ending {
  /** Whether the process is done with it. */
  over = false;
  #listeners: Set<() => void> | undefined;

  /** Runs `listener` at the end, which must be still to come. Returns what takes that back. */
  whenOver(listener: () => void): () => void {
    // A function given twice is to run twice.
    const own = () => listener();
    const listeners = this.#listeners ??= new Set();
    listeners.add(own);
    return () => void listeners.delete(own);
  }

  /** The process is done with it; the second time nothing happens. */
  end(): void {
    if (this.over) return;
    this.over = true;
    const listeners = this.#listeners;
    this.#listeners = undefined;
    if (listeners !== undefined) { for (const listener of listeners) listener(); }
  }
}
