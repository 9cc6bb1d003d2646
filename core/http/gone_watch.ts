/** How often connections are looked at, in ms. */
const every = 25;

/** A request whose client may leave; a Web `Request` has it. */
export interface Watched {
  readonly signal: AbortSignal;
}

/**
 * Tells when clients leave, by looking at all unfinished requests every 25 ms. Making an `AbortSignal` and adding a
 * listener costs 2-4 us on Bun, which each request would pay; most are over before the first look.
 */
export class GoneWatch {
  readonly #watched = new Map<() => void, Watched>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Calls `left` once, at most 25 ms after the client has left; returns a function that takes it back. */
  add(request: Watched, left: () => void): () => void {
    this.#watched.set(left, request);
    this.#timer ??= setTimeout(this.#look, every);
    return () => void this.#watched.delete(left);
  }

  readonly #look = (): void => {
    this.#timer = undefined;
    for (const [left, { signal }] of this.#watched) {
      if (!signal.aborted) continue;
      this.#watched.delete(left);
      left();
    }
    if (this.#watched.size > 0) this.#timer ??= setTimeout(this.#look, every);
  };
}
