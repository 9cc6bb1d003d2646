/** Buckets of a {@linkcode Times}: the n-th ends at 2^n us, the last (about 36 minutes) has no end. */
const buckets = 32;

/** How long things took, in buckets that are powers of two: 256 bytes, and no allocation for one more. */
export class Times {
  readonly #counts = new Float64Array(buckets);

  add(ms: number): void {
    const us = ms * 1000;
    this.#counts[us < 1 ? 0 : us >= 2 ** (buckets - 1) ? buckets - 1 : 32 - Math.clz32(us)]!++;
  }

  /** Takes all that another one has counted. */
  merge(other: Times): void {
    for (let i = 0; i < buckets; i++) this.#counts[i]! += other.#counts[i]!;
  }

  /**
   * An estimate of a quantile, in ms: from the bucket it lies in, so at most a factor of two off. `max` is the longest
   * time that was added; no estimate is above it.
   */
  quantile(q: number, max: number): number {
    const counts = this.#counts;
    const rank = q * counts.reduce((sum, count) => sum + count, 0);
    let below = 0;
    for (let i = 0; i < buckets; i++) {
      const here = counts[i]!;
      if (here > 0 && below + here >= rank) {
        const from = i === 0 ? 0 : 2 ** (i - 1) / 1000;
        const to = i === buckets - 1 ? max : Math.min(2 ** i / 1000, max);
        return Math.min(max, from + Math.max(0, to - from) * ((rank - below) / here));
      }
      below += here;
    }
    return 0;
  }
}
