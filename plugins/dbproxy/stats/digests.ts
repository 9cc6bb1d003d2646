import { shorten } from "./shorten.ts";
import { Times } from "./times.ts";

/** One statement that has ended. */
export interface Sample {
  /** Of the normalised text; equal texts have equal hashes. */
  readonly hash: string;
  /** The normalised text; asked for once for each new digest. */
  readonly text: () => string;
  /** The session's default schema; empty when it has none. */
  readonly schema: string;
  readonly ms: number;
  /** Sent or changed. */
  readonly rows: number;
  /** Of the reply. */
  readonly bytes: number;
  readonly error: boolean;
  /** Of the HTTP request that asked, when known. Read only when it is needed: it may be a getter. */
  readonly requestId?: string | undefined;
}

/** What is known of one digest in one schema. Times are in ms; quantiles are estimates, at most a factor of two off. */
export interface DigestRow {
  /** Empty for the row of those that were pushed out. */
  readonly hash: string;
  /** At most 2,000 characters; `(other)` for the row of those that were pushed out. */
  readonly text: string;
  readonly schema: string;
  readonly count: number;
  readonly errors: number;
  readonly rows: number;
  readonly bytes: number;
  /** Of all statements together. */
  readonly time: number;
  readonly mean: number;
  readonly max: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  /** Milliseconds since the epoch. */
  readonly first_seen: number;
  readonly last_seen: number;
  /** The HTTP request of the slowest statement, when known. */
  readonly slowest_request?: string | undefined;
}

export type DigestOrder = "time" | "count" | "errors" | "rows" | "mean" | "max";
/** Each {@linkcode DigestOrder}. */
export const digestOrders: readonly DigestOrder[] = ["time", "count", "errors", "rows", "mean", "max"];

export interface DigestOptions {
  /** Digests kept apart; the least recently seen is pushed out, and its figures go on in the row `(other)`. */
  readonly capacity: number;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

/**
 * Figures of statements by their normalised text and schema. Bounded, and yet the sum over all rows is exact. A
 * statement whose digest is known allocates nothing.
 *
 * @example
 * ```ts
 * const digests = new DigestTable({ capacity: 1000 });
 * digests.record({ hash: "9a1f", text: () => "SELECT ?", schema: "shop", ms: 1.2, rows: 1, bytes: 60, error: false });
 * digests.top({ by: "time", limit: 10 })[0].text; // "SELECT ?"
 * ```
 */
export class DigestTable {
  readonly #capacity: number;
  readonly #now: () => number;
  /** By schema, then by hash: a key of both would have to be made for each statement. */
  readonly #schemas = new Map<string, Map<string, Figures>>();
  /** Head of a ring from the most to the least recently seen. */
  readonly #ring = new Figures("", "", "");
  #other = new Figures("", "(other)", "");
  #size = 0;
  #since: number;

  constructor({ capacity, now = Date.now }: DigestOptions) {
    this.#capacity = capacity;
    this.#now = now;
    this.#since = now();
  }

  /** Digests held. */
  get size(): number {
    return this.#size;
  }

  /** When counting began, in milliseconds since the epoch. */
  get since(): number {
    return this.#since;
  }

  record(sample: Sample): void {
    const at = this.#now();
    const figures = this.#schemas.get(sample.schema)?.get(sample.hash) ?? this.#enter(sample, at);
    figures.add(sample, at);
    if (this.#ring.next === figures) return;
    figures.unlink();
    figures.linkAfter(this.#ring);
  }

  /** The first by an order, the greatest first; then `(other)`, if there is one, whatever the limit. */
  top({ by, limit }: { readonly by: DigestOrder; readonly limit: number }): DigestRow[] {
    const all: Figures[] = [];
    for (let at = this.#ring.next; at !== this.#ring; at = at.next) all.push(at);
    all.sort((a, b) => b[by] - a[by] || b.time - a.time);
    const rows = all.slice(0, limit).map((figures) => figures.row());
    return this.#other.count > 0 ? [...rows, this.#other.row()] : rows;
  }

  /** The sum over all digests, those pushed out included. */
  total(): DigestRow {
    const sum = new Figures("", "(total)", "");
    sum.merge(this.#other);
    for (let at = this.#ring.next; at !== this.#ring; at = at.next) sum.merge(at);
    return sum.row();
  }

  /** Forgets everything. */
  reset(): void {
    this.#schemas.clear();
    this.#ring.unlink();
    this.#other = new Figures("", "(other)", "");
    this.#size = 0;
    this.#since = this.#now();
  }

  #enter({ hash, text, schema }: Sample, at: number): Figures {
    if (this.#size >= this.#capacity) this.#pushOut();
    const figures = new Figures(hash, shorten(text(), 2000), schema, at);
    let hashes = this.#schemas.get(schema);
    if (hashes === undefined) this.#schemas.set(schema, hashes = new Map());
    hashes.set(hash, figures);
    figures.linkAfter(this.#ring);
    this.#size++;
    return figures;
  }

  #pushOut(): void {
    const oldest = this.#ring.previous;
    oldest.unlink();
    const hashes = this.#schemas.get(oldest.schema)!;
    hashes.delete(oldest.hash);
    if (hashes.size === 0) this.#schemas.delete(oldest.schema);
    this.#other.merge(oldest);
    this.#size--;
  }
}

/** The figures of one digest, and its place in the ring. */
class Figures {
  readonly hash: string;
  readonly text: string;
  readonly schema: string;
  count = 0;
  errors = 0;
  rows = 0;
  bytes = 0;
  time = 0;
  max = 0;
  next: Figures = this;
  previous: Figures = this;
  readonly #times = new Times();
  #first: number;
  #last = 0;
  #slowest: string | undefined;

  constructor(hash: string, text: string, schema: string, first: number = Infinity) {
    this.hash = hash;
    this.text = text;
    this.schema = schema;
    this.#first = first;
  }

  get mean(): number {
    return this.count === 0 ? 0 : this.time / this.count;
  }

  add(sample: Sample, at: number): void {
    this.count++;
    if (sample.error) this.errors++;
    this.rows += sample.rows;
    this.bytes += sample.bytes;
    this.time += sample.ms;
    this.#times.add(sample.ms);
    this.#last = at;
    if (sample.ms >= this.max) {
      this.max = sample.ms;
      this.#slowest = sample.requestId;
    }
  }

  merge(other: Figures): void {
    this.count += other.count;
    this.errors += other.errors;
    this.rows += other.rows;
    this.bytes += other.bytes;
    this.time += other.time;
    this.#times.merge(other.#times);
    this.#first = Math.min(this.#first, other.#first);
    this.#last = Math.max(this.#last, other.#last);
    if (other.max >= this.max) {
      this.max = other.max;
      this.#slowest = other.#slowest;
    }
  }

  linkAfter(place: Figures): void {
    this.previous = place;
    this.next = place.next;
    place.next.previous = this;
    place.next = this;
  }

  /** Leaves the ring; its head so leaves all others. */
  unlink(): void {
    this.previous.next = this.next;
    this.next.previous = this.previous;
    this.next = this.previous = this;
  }

  row(): DigestRow {
    const { hash, text, schema, count, errors, rows, bytes, time, mean, max } = this;
    const [p50, p95, p99] = [0.5, 0.95, 0.99].map((q) => this.#times.quantile(q, max)) as [number, number, number];
    const seen = count === 0 ? { first_seen: 0, last_seen: 0 } : { first_seen: this.#first, last_seen: this.#last };
    const slowest = this.#slowest === undefined ? {} : { slowest_request: this.#slowest };
    return { hash, text, schema, count, errors, rows, bytes, time, mean, max, p50, p95, p99, ...seen, ...slowest };
  }
}
