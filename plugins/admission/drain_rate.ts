/** How fast old measurements fade, in ms of saturated time. */
const memory = 5000;
/** Saturated time, in ms, below which nothing is said. */
const enough = 100;
/** Permits below which nothing is foretold. */
const few = 3;

/**
 * How fast a gate's permits come back while someone waits: permits over time, both fading exponentially. Only saturated
 * time counts, as an idle gate says nothing about what it could do.
 */
export class DrainRate {
  #returned = 0;
  #elapsed = 0;
  #fresh = 0;
  #since = 0;

  /** Permits per ms; `Infinity` until there is something to tell from. A gate that gave nothing back counts as about to. */
  get perMs(): number {
    return this.#elapsed < enough ? Infinity : Math.max(this.#returned, 1) / this.#elapsed;
  }

  /** Whether enough has come back to foretell anything from. */
  get measured(): boolean {
    return this.#elapsed >= enough && this.#returned >= few;
  }

  /** Whether what was measured is long enough to foretell the next `ms` from: half as long, or all that is remembered. */
  covers(ms: number): boolean {
    return this.#elapsed >= Math.min(ms, memory) / 2;
  }

  /** The permits have become `factor` times as many. */
  scale(factor: number): void {
    this.#returned *= factor;
    this.#fresh *= factor;
  }

  /** Somebody has begun to wait. */
  resume(now: number): void {
    this.#since = now;
  }

  /** Permits came back while somebody waited. */
  count(weight: number): void {
    this.#fresh += weight;
  }

  /** Takes in what happened up to `now`: while someone waits, or when the last has just left the line. */
  settle(now: number): void {
    const elapsed = now - this.#since;
    const kept = Math.exp(-elapsed / memory);
    this.#returned = this.#returned * kept + this.#fresh;
    this.#elapsed = this.#elapsed * kept + elapsed;
    this.#fresh = 0;
    this.#since = now;
  }
}

/** Longest absence asked of a client, in seconds. */
const longest = 30;

/**
 * Seconds until `weight` permits will have come back, 1 to 30, spread by a fifth either way so that those refused together
 * do not return together. `random` is in [0, 1).
 */
export function secondsToDrain(weight: number, perMs: number, random: number): number {
  const seconds = Math.min(Math.max(Math.ceil(weight / perMs / 1000), 1), longest);
  return Math.min(Math.max(Math.round(seconds * (0.8 + 0.4 * random)), 1), longest);
}
