import type { Counter, Family, Histogram, Meter, Sample } from "../../core/contracts/meter.ts";
import { CoreError } from "../../core/error.ts";
import { Buckets, checkBounds } from "./buckets.ts";
import { Count } from "./count.ts";
import { type Format, writeText } from "./exposition.ts";
import { BoundedFamily } from "./family.ts";
import type { Description, Point, Snapshot } from "./metric.ts";
import { checkNames, namesTaken } from "./names.ts";
import { Readers } from "./readers.ts";

const ERRORS = "fairlead_metrics_errors_total";

/** Settings of a {@linkcode Registry}. */
export interface RegistryOptions {
  /** Children a family may have before the rest shares one. */
  readonly limit?: number;
  /** Told of each number that could not be read or kept, besides `fairlead_metrics_errors_total`. */
  readonly onError?: (metric: string, error: unknown) => void;
}

interface Counters extends Description {
  readonly type: "counter";
  readonly source: BoundedFamily<Count> | Readers;
}
interface Gauges extends Description {
  readonly type: "gauge";
  readonly source: Readers;
}
interface Histograms extends Description {
  readonly type: "histogram";
  readonly source: BoundedFamily<Buckets>;
  readonly bounds: Float64Array;
}
type Metric = Counters | Gauges | Histograms;

/**
 * Keeps numbers and prints them. Registering a metric twice with the same type, help, labels and bounds gives the same
 * one; anything else under a taken name throws `METRIC_TAKEN`.
 *
 * @example
 * ```ts
 * const registry = new Registry();
 * const shed = registry.counters("fairlead_shed_total", "Requests turned away", ["reason"]);
 * shed.with("full").inc();
 * registry.expose(); // # HELP fairlead_metrics_errors_total ... fairlead_shed_total{reason="full"} 1
 * ```
 */
export class Registry implements Meter {
  readonly #limit: number;
  readonly #onError: (metric: string, error: unknown) => void;
  readonly #metrics = new Map<string, Metric>();
  /** Names of samples, and the metric each belongs to. */
  readonly #taken = new Map<string, string>();
  readonly #errors: Counter;

  constructor({ limit = 500, onError = () => {} }: RegistryOptions = {}) {
    this.#limit = limit;
    this.#onError = onError;
    this.#errors = this.counter(ERRORS, "Metric values that could not be read or kept");
  }

  counter(name: string, help: string): Counter {
    return this.counters(name, help, []).with();
  }

  counters(name: string, help: string, labels: readonly string[]): Family<Counter> {
    const known = this.#known({ name, type: "counter", help, labels });
    if (known?.type === "counter" && known.source instanceof BoundedFamily) return known.source;
    const refuse = (error: Error) => this.#fail(name, error);
    const source = new BoundedFamily({ name, labels, limit: this.#limit, create: () => new Count(refuse) });
    this.#add({ name, type: "counter", help, labels, source });
    return source;
  }

  /** A counter that someone else keeps, read when scraped: the CPU time of the process. */
  counterOf(name: string, help: string, read: () => number): void {
    this.#read("counter", name, help, [], () => [[[], read()]]);
  }

  gauge(name: string, help: string, read: () => number): void {
    this.#read("gauge", name, help, [], () => [[[], read()]]);
  }

  /** Registered again, the metric gets one reader more: the pools of one plugin can each show their own label values. */
  gauges(name: string, help: string, labels: readonly string[], read: () => Iterable<Sample>): void {
    this.#read("gauge", name, help, labels, read);
  }

  histogram(name: string, help: string, bounds: readonly number[]): Histogram {
    return this.histograms(name, help, bounds, []).with();
  }

  histograms(name: string, help: string, bounds: readonly number[], labels: readonly string[]): Family<Histogram> {
    const known = this.#known({ name, type: "histogram", help, labels });
    const checked = checkBounds(name, bounds);
    if (known?.type === "histogram") {
      if (known.bounds.join() !== checked.join()) throw taken(name, "with other bounds");
      return known.source;
    }
    const refuse = (error: Error) => this.#fail(name, error);
    const create = () => new Buckets(checked, refuse);
    const source = new BoundedFamily({ name, labels, limit: this.#limit, create });
    this.#add({ name, type: "histogram", help, labels, source, bounds: checked });
    return source;
  }

  /** Every metric that is registered, by name. */
  describe(): readonly Description[] {
    return [...this.#metrics.values()]
      .map(({ name, type, help, labels }) => ({ name, type, help, labels }))
      .sort((a, b) => byText(a.name, b.name));
  }

  /** Reads every metric. Metrics come by name and their children by labels, whatever the order they were made in. */
  snapshot(): readonly Snapshot[] {
    // The errors are read last: they may come from reading the others.
    const metrics = [...this.#metrics.values()].sort((a, b) => Number(a.name === ERRORS) - Number(b.name === ERRORS));
    return metrics
      .map((metric) => {
        const { name, type, help, labels } = metric;
        return {
          name,
          type,
          help,
          labels,
          points: this.#points(metric).toSorted((a, b) => byText(a.labels, b.labels)),
        };
      })
      .sort((a, b) => byText(a.name, b.name));
  }

  /** All metrics as text, for Prometheus or in OpenMetrics. */
  expose(format: Format = "text"): string {
    return writeText(this.snapshot(), format);
  }

  #points(metric: Metric): readonly Point[] {
    if (metric.source instanceof Readers) return metric.source.read((error) => this.#fail(metric.name, error));
    if (metric.type === "histogram") return metric.source.points;
    return metric.source.points.map(({ labels, value }) => ({ labels, value: value.value }));
  }

  #read(
    type: "counter" | "gauge",
    name: string,
    help: string,
    labels: readonly string[],
    read: () => Iterable<Sample>,
  ): void {
    const known = this.#known({ name, type, help, labels });
    if (known !== undefined) {
      if (!(known.source instanceof Readers) || labels.length === 0) throw taken(name, "with another reader");
      return known.source.add(read);
    }
    const source = new Readers({ name, labels, limit: this.#limit });
    source.add(read);
    this.#add({ name, type, help, labels, source });
  }

  #known(wanted: Description): Metric | undefined {
    checkNames(wanted);
    const known = this.#metrics.get(wanted.name);
    if (known === undefined) {
      const owner = namesTaken(wanted).map((name) => this.#taken.get(name)).find((name) => name !== undefined);
      if (owner !== undefined) throw taken(wanted.name, `by the samples of ${owner}`);
      return undefined;
    }
    if (known.type !== wanted.type) throw taken(wanted.name, `as a ${known.type}`);
    if (known.help !== wanted.help) throw taken(wanted.name, `with another help: ${known.help}`);
    if (known.labels.join() !== wanted.labels.join()) {
      throw taken(wanted.name, `with the labels [${known.labels.join(", ")}]`);
    }
    return known;
  }

  #add(metric: Metric): void {
    this.#metrics.set(metric.name, metric);
    for (const name of namesTaken(metric)) this.#taken.set(name, metric.name);
  }

  #fail(metric: string, error: unknown): void {
    this.#errors.inc();
    this.#onError(metric, error);
  }
}

function taken(name: string, how: string): CoreError {
  return new CoreError("METRIC_TAKEN", `Cannot register metric ${name}: the name is taken ${how}`);
}

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
