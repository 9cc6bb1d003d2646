import type { Histogram } from "../../core/contracts/meter.ts";
import { CoreError } from "../../core/error.ts";
import type { Refuse } from "./count.ts";
import type { Distribution } from "./metric.ts";

/**
 * A histogram's numbers. A value equal to a bound belongs to that bound's bucket (`le`). The search is linear: for
 * twenty bounds it beats a binary one on both runtimes, and short times, the common case, are found first.
 */
export class Buckets implements Histogram, Distribution {
  /** Shared by all children of a family. */
  readonly bounds: Float64Array;
  readonly counts: Float64Array;
  sum = 0;
  readonly #refuse: Refuse;

  constructor(bounds: Float64Array, refuse: Refuse = () => {}) {
    this.bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
    this.#refuse = refuse;
  }

  observe(value: number): void {
    // One NaN or Infinity would stay in the sum for good.
    if (value - value !== 0) return this.#refuse(new RangeError(`a histogram takes finite numbers, got ${value}`));
    const bounds = this.bounds;
    let i = 0;
    while (i < bounds.length && value > bounds[i]!) i++;
    this.counts[i]!++;
    this.sum += value;
  }
}

/** The bounds as the children use them. Throws `METRIC_BOUNDS` unless they are finite and ascend. */
export function checkBounds(name: string, bounds: readonly number[]): Float64Array {
  const ascending = bounds.every((bound, i) => Number.isFinite(bound) && (i === 0 || bound > bounds[i - 1]!));
  if (bounds.length === 0 || !ascending) {
    throw new CoreError(
      "METRIC_BOUNDS",
      `Cannot register metric ${name}: expected one or more finite, ascending bounds (+Inf is added), got [${
        bounds.join(", ")
      }]`,
    );
  }
  return Float64Array.from(bounds);
}

/** `count` bounds, each twice the one before: an error of at most two everywhere, for few buckets. */
export function doubling(first: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, i) => first * 2 ** i);
}
