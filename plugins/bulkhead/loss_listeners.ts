/** Who wants to know when permits are lost. */
export class LossListeners {
  #listeners: Set<() => void> | undefined;

  /** Returns a function that takes the listener back. */
  add(listener: () => void): () => void {
    // Wrapped, so that one listener given twice is two.
    const own = () => listener();
    (this.#listeners ??= new Set()).add(own);
    return () => void this.#listeners?.delete(own);
  }

  clear(): void {
    this.#listeners = undefined;
  }

  /** Tells each, once, whatever the others throw. */
  tell(onError: (error: unknown) => void): void {
    const listeners = this.#listeners;
    this.#listeners = undefined;
    for (const listener of listeners ?? []) {
      try {
        listener();
      } catch (error) {
        onError(error);
      }
    }
  }
}
