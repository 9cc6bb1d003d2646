import type { Counter, Family, Histogram, Meter, Sample } from "../../core/contracts/meter.ts";

/** A meter whose numbers can be read by `name{label values}`. */
export class FakeMeter implements Meter {
  readonly counts: Map<string, number> = new Map();
  readonly observed: Map<string, number[]> = new Map();
  readonly bounds: Map<string, readonly number[]> = new Map();
  readonly #gauges = new Map<string, () => Iterable<Sample>>();

  counter(name: string): Counter {
    return this.counters(name).with();
  }

  counters(name: string): Family<Counter> {
    return {
      with: (...values) => {
        const key = `${name}{${values}}`;
        this.counts.set(key, this.counts.get(key) ?? 0);
        return { inc: (by = 1) => void this.counts.set(key, this.counts.get(key)! + by) };
      },
    };
  }

  gauge(name: string, _help: string, read: () => number): void {
    this.#gauges.set(name, () => [[[], read()]]);
  }

  gauges(name: string, _help: string, _labels: readonly string[], read: () => Iterable<Sample>): void {
    this.#gauges.set(name, read);
  }

  histogram(name: string, help: string, bounds: readonly number[]): Histogram {
    return this.histograms(name, help, bounds).with();
  }

  histograms(name: string, _help: string, bounds: readonly number[]): Family<Histogram> {
    this.bounds.set(name, bounds);
    return {
      with: (...values) => {
        const seen: number[] = [];
        this.observed.set(`${name}{${values}}`, seen);
        return { observe: (value) => void seen.push(value) };
      },
    };
  }

  read(name: string, label: string): number | undefined {
    for (const [values, value] of this.#gauges.get(name)?.() ?? []) if (values[0] === label) return value;
    return undefined;
  }
}
