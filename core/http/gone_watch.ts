/** How often connections are looked at, in ms. */
const every = 50;

/** A request whose client may leave; a Web `Request` has it. */
export interface Watched {
  readonly signal: AbortSignal;
}

interface Entry {
  readonly request: Watched;
  readonly left: () => void;
  /** Its place among the entries, or -1 when it was told or taken back. */
  place: number;
  /** Left out at its first look: most requests never see a second, and making their signal would be for nothing. */
  seen: boolean;
}

/**
 * Tells when clients leave, by looking at unfinished requests every 50 ms. Making an `AbortSignal` and adding a
 * listener costs 2-4 us on Bun, which each request would pay; most are over before the first look. What is taken back is
 * let go at once: a request that a collector finds here would live until the next full collection.
 */
export class GoneWatch {
  readonly #entries: Entry[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Calls `left` once, at most 100 ms after the client has left; returns a function that takes it back. */
  add(request: Watched, left: () => void): () => void {
    const entry: Entry = { request, left, place: this.#entries.length, seen: false };
    this.#entries.push(entry);
    this.#timer ??= setTimeout(this.#look, every);
    return () => this.#remove(entry);
  }

  #remove(entry: Entry): void {
    const { place } = entry;
    if (place < 0) return;
    entry.place = -1;
    const last = this.#entries.pop()!;
    if (last === entry) return;
    this.#entries[place] = last;
    last.place = place;
  }

  readonly #look = (): void => {
    this.#timer = undefined;
    // Backwards: whoever is removed changes places with one that has been looked at.
    for (let i = this.#entries.length - 1; i >= 0; i--) {
      const entry = this.#entries[i];
      if (entry === undefined) continue;
      if (!entry.seen) entry.seen = true;
      else if (entry.request.signal.aborted) {
        this.#remove(entry);
        entry.left();
      }
    }
    if (this.#entries.length > 0) this.#timer ??= setTimeout(this.#look, every);
  };
}
