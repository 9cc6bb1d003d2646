import type { Family } from "../../core/contracts/meter.ts";
import { CoreError } from "../../core/error.ts";
import { OTHER, type Point } from "./metric.ts";
import { labelPairs } from "./names.ts";

/** What {@linkcode BoundedFamily} is made of. */
export interface FamilyOptions<T> {
  /** The metric's name, for errors. */
  readonly name: string;
  readonly labels: readonly string[];
  readonly create: () => T;
  /** Children with labels of their own; whatever comes later shares one child labelled `_other`. */
  readonly limit: number;
}

/** One level of label values: a path from the root spells a child's labels. */
class Level<T> {
  readonly next = new Map<string, Level<T>>();
  child: T | undefined;
}

/** Children by label values. Finding one costs a map look-up a label and builds no string. */
export class BoundedFamily<T> implements Family<T> {
  readonly #options: FamilyOptions<T>;
  readonly #root = new Level<T>();
  readonly #points: Point<T>[] = [];
  #other: T | undefined;

  constructor(options: FamilyOptions<T>) {
    this.#options = options;
  }

  /** Throws `METRIC_LABELS` unless there are as many values as labels. */
  with(...values: readonly string[]): T {
    return this.#find(values) ?? this.#make(values);
  }

  /** Every child, in the order they were made. */
  get points(): readonly Point<T>[] {
    return this.#points;
  }

  #find(values: readonly string[]): T | undefined {
    let level: Level<T> | undefined = this.#root;
    for (let i = 0; i < values.length; i++) {
      level = level.next.get(values[i]!);
      if (level === undefined) return undefined;
    }
    return level.child;
  }

  #make(values: readonly string[]): T {
    const { name, labels, limit } = this.#options;
    if (values.length !== labels.length) throw wrongLabels(name, labels, values);
    // Two lone surrogates print alike, and a plugin without types may pass numbers.
    const printable = values.map((value) => String(value).toWellFormed());
    const known = this.#find(printable);
    if (known !== undefined) return known;
    if (this.#points.length < limit) return this.#insert(printable);
    const other = labels.map(() => OTHER);
    return this.#other ??= this.#find(other) ?? this.#insert(other);
  }

  #insert(values: readonly string[]): T {
    let level = this.#root;
    for (const value of values) {
      let next = level.next.get(value);
      if (next === undefined) level.next.set(value, next = new Level());
      level = next;
    }
    const child = this.#options.create();
    level.child = child;
    this.#points.push({ labels: labelPairs(this.#options.labels, values), value: child });
    return child;
  }
}

/** The error for label values that do not fit the labels. */
export function wrongLabels(name: string, labels: readonly string[], values: readonly string[]): CoreError {
  return new CoreError(
    "METRIC_LABELS",
    `Cannot use metric ${name}: expected values for [${labels.join(", ")}], got [${values.join(", ")}]`,
  );
}
