import type { Sample } from "../../core/contracts/meter.ts";
import { wrongLabels } from "./family.ts";
import type { Point } from "./metric.ts";
import { labelPairs } from "./names.ts";

/** What {@linkcode Readers} is made of. */
export interface ReadersOptions {
  /** The metric's name, for errors. */
  readonly name: string;
  readonly labels: readonly string[];
  /** Points printed at most. */
  readonly limit: number;
}

/** Numbers asked for when scraped. Several readers may fill one metric, each with label values of its own. */
export class Readers {
  readonly #options: ReadersOptions;
  readonly #readers = new Set<() => Iterable<Sample>>();

  constructor(options: ReadersOptions) {
    this.#options = options;
  }

  add(read: () => Iterable<Sample>): void {
    this.#readers.add(read);
  }

  /**
   * Asks every reader. One that throws, or says what cannot be printed, is left out whole and told to `fail`; the
   * others are printed.
   */
  read(fail: (error: unknown) => void): readonly Point<number>[] {
    const points = new Map<string, number>();
    for (const reader of this.#readers) {
      try {
        for (const [labels, value] of this.#ask(reader, points)) points.set(labels, value);
      } catch (error) {
        fail(error);
      }
    }
    return Array.from(points, ([labels, value]) => ({ labels, value }));
  }

  #ask(reader: () => Iterable<Sample>, taken: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
    const { name, labels, limit } = this.#options;
    const own = new Map<string, number>();
    for (const [values, value] of reader()) {
      if (values.length !== labels.length) throw wrongLabels(name, labels, values);
      if (typeof value !== "number") throw new TypeError(`expected a number, got ${typeof value}`);
      const pairs = labelPairs(labels, values.map((text) => String(text).toWellFormed()));
      if (own.has(pairs) || taken.has(pairs)) throw new Error(`two values for {${pairs}}`);
      if (own.size + taken.size >= limit) throw new RangeError(`more than ${limit} label values`);
      own.set(pairs, value);
    }
    return own;
  }
}
