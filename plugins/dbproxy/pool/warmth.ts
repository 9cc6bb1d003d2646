/** Waits (ms) before the minimum of connections is tried again when the server itself said no. */
const firstWait = 1_000;
const longestWait = 30_000;

/** What connections that nobody asked for are opened for, and when. */
export class Warmth<W> {
  readonly #fixed: boolean;
  #want: W | undefined;
  #wait = 0;
  #at = -Infinity;

  constructor(want: W | undefined) {
    this.#fixed = want !== undefined;
    this.#want = want;
  }

  /** Undefined while nothing is known of what is wanted. */
  get want(): W | undefined {
    return this.#want;
  }

  /** When the next may be opened. */
  get at(): number {
    return this.#at;
  }

  /** Somebody wanted this; the best guess, when nothing was said from the start. */
  saw(want: W): void {
    if (!this.#fixed) this.#want = want;
  }

  succeeded(): void {
    this.#wait = 0;
    this.#at = -Infinity;
  }

  refused(now: number): void {
    this.#wait = Math.min(longestWait, Math.max(firstWait, 2 * this.#wait));
    this.#at = now + this.#wait;
  }
}
