import type { BulkheadOptions, Bulkheads, KeyedBulkheadOptions } from "../../core/contracts/bulkheads.ts";
import { Bulkhead } from "./bulkhead.ts";
import { noLimit } from "./errors.ts";
import { KeyedBulkhead } from "./keyed_bulkhead.ts";
import type { Limits } from "./limits.ts";
import type { BulkheadStore } from "./store.ts";

/** Bulkheads on one store, with what the host has configured where the caller does not say. */
export class BulkheadRegistry implements Bulkheads {
  readonly #store: BulkheadStore;
  readonly #limits: Limits;

  constructor(store: BulkheadStore, limits: Limits) {
    this.#store = store;
    this.#limits = limits;
  }

  get(name: string, options: BulkheadOptions = {}): Bulkhead {
    return new Bulkhead({ ...this.#complete(name, options), name, store: this.#store });
  }

  keyed(name: string, options: KeyedBulkheadOptions = {}): KeyedBulkhead {
    const { maxKeys } = options;
    return new KeyedBulkhead({
      ...this.#complete(name, options),
      ...(maxKeys === undefined ? undefined : { maxKeys }),
      name,
      store: this.#store,
    });
  }

  #complete(name: string, options: BulkheadOptions): BulkheadOptions {
    const known = this.#limits.of(name);
    const maxConcurrent = options.maxConcurrent ?? known?.maxConcurrent;
    const lease = options.lease ?? known?.lease;
    const maxWait = options.maxWait ?? known?.maxWait;
    const maxQueue = options.maxQueue ?? known?.maxQueue;
    if (maxConcurrent === undefined) throw noLimit(name);
    return {
      ...options,
      maxConcurrent,
      ...(lease === undefined ? undefined : { lease }),
      ...(maxWait === undefined ? undefined : { maxWait }),
      ...(maxQueue === undefined ? undefined : { maxQueue }),
    };
  }
}
