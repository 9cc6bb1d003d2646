/**
 * How long the oldest of a line has waited, from outside: a gate tells how many wait, and whom it lets in. Whoever stood in the
 * line at one look, and has not been let in by the next, has waited since the first. So the time is never more than what the
 * oldest has waited, but where waiters have left: those are taken for still there until as many were let in.
 */
export class LineWait {
  readonly #now: () => number;
  /** When so many were in line; undefined while nobody was. */
  #since: number | undefined;
  #ahead = 0;

  /** @param now ms */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** One of the line was let in. */
  letIn(): void {
    if (this.#ahead > 0) this.#ahead--;
  }

  /** ms; `queued`: how many wait now. */
  look(queued: number): number {
    const now = this.#now();
    if (queued === 0) {
      this.#since = undefined;
    } else if (this.#since === undefined || this.#ahead === 0) {
      this.#since = now;
      this.#ahead = queued;
    }
    return this.#since === undefined ? 0 : now - this.#since;
  }
}
