/** How often connections are looked at, in ms. */
const every = 25;

/** A request whose client may leave; a Web `Request` has it. */
export interface Watched {
  readonly signal: AbortSignal;
}

interface Entry {
  readonly request: Watched;
  /** Undefined when it was told or taken back. */
  left: (() => void) | undefined;
  /** Left out at its first look: most requests never see a second, and making their signal would be for nothing. */
  seen: boolean;
}

/**
 * Tells when clients leave, by looking at unfinished requests every 25 ms. Making an `AbortSignal` and adding a
 * listener costs 2-4 us on Bun, which each request would pay; most are over before the first look.
 */
export class GoneWatch {
  #entries: Entry[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Calls `left` once, at most 50 ms after the client has left; returns a function that takes it back. */
  add(request: Watched, left: () => void): () => void {
    const entry: Entry = { request, left, seen: false };
    this.#entries.push(entry);
    this.#timer ??= setTimeout(this.#look, every);
    return () => void (entry.left = undefined);
  }

  readonly #look = (): void => {
    this.#timer = undefined;
    const entries = this.#entries.filter((entry) => entry.left !== undefined);
    this.#entries = entries;
    for (const entry of entries) {
      if (!entry.seen) entry.seen = true;
      else if (entry.request.signal.aborted) tell(entry);
    }
    if (this.#entries.length > 0) this.#timer ??= setTimeout(this.#look, every);
  };
}

function tell(entry: Entry): void {
  const left = entry.left;
  entry.left = undefined;
  left?.();
}
