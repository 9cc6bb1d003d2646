/** One line of an exposition. */
export interface Sample {
  readonly labels: ReadonlyMap<string, string>;
  readonly value: number;
}

/** Which samples of a metric are meant: those that have all of these labels. */
export type Where = Readonly<Record<string, string>>;

/** What one scrape has brought, by name. */
export class Metrics {
  readonly #samples: ReadonlyMap<string, readonly Sample[]>;
  /** Lines that could not be read. */
  readonly unread: number;

  constructor(samples: ReadonlyMap<string, readonly Sample[]>, unread: number = 0) {
    this.#samples = samples;
    this.unread = unread;
  }

  get names(): Iterable<string> {
    return this.#samples.keys();
  }

  samples(name: string, where: Where = {}): readonly Sample[] {
    const all = this.#samples.get(name) ?? [];
    const wanted = Object.entries(where);
    if (wanted.length === 0) return all;
    return all.filter(({ labels }) => wanted.every(([label, value]) => labels.get(label) === value));
  }

  /** The sum of the samples meant; undefined when there is none. */
  value(name: string, where: Where = {}): number | undefined {
    const found = this.samples(name, where);
    return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
  }

  /** The values that a label has among the samples meant, in the order of their first appearance. */
  valuesOf(name: string, label: string, where: Where = {}): readonly string[] {
    return [...new Set(this.samples(name, where).flatMap(({ labels }) => labels.get(label) ?? []))];
  }
}
