import type { GateTerms, Refusal } from "../../core/contracts/gates.ts";
import type { Counter } from "../../core/contracts/meter.ts";
import { BargingGate } from "./barging_gate.ts";
import { classes } from "./classes.ts";
import type { Clock } from "../../core/clock.ts";
import { createGate } from "./create_gate.ts";
import { FairGate } from "./fair_gate.ts";
import type { GateOptions, LineOptions } from "./gate_options.ts";
import { type AdmissionSettings, differences } from "./settings.ts";

export interface MakerParts {
  readonly clock: Clock;
  readonly random: () => number;
  onError(lane: string): (error: unknown) => void;
  onOvertake(lane: string): Counter;
  onRefused(lane: string): (reason: Refusal) => void;
}

/** With `barge`, how long (ms) a woken head takes until it runs. At 0 it runs before the next request is read, and seldom loses. */
const wakeMs = 1;

/** Makes gates as the configuration wants them. */
export class GateMaker {
  readonly #settings: AdmissionSettings;
  readonly #parts: MakerParts;
  /** What a pool's gate has beyond a line. */
  readonly #more: Omit<GateOptions, keyof LineOptions>;

  constructor(settings: AdmissionSettings, parts: MakerParts) {
    this.#settings = settings;
    this.#parts = parts;
    const { classed, keyed } = differences(settings);
    const { discipline, codel, threshold, shares, key_limit: keyLimit, key_queue: keyQueue, fair } = settings;
    this.#more = {
      ...(classed ? { shares } : {}),
      ...(keyed ? { keys: true, keyLimit, keyQueue, fair } : {}),
      ...(discipline === "lifo" || discipline === "adaptive_lifo" ? { order: discipline } : {}),
      // Where all are one class there is none that could be spared.
      ...(classed ? {} : { newestFirst: classes }),
      ...{ codel, threshold },
    };
  }

  make(name: string, limit: number, terms: GateTerms): FairGate {
    const { max_queue, grace, predict, discipline } = this.#settings;
    const { clock, random } = this.#parts;
    if (terms.strict) {
      const { maxQueue = max_queue, grace: patience = grace } = terms;
      return new FairGate({
        name,
        limit,
        maxQueue,
        grace: patience,
        clock,
        random,
        onError: this.#parts.onError(name),
      });
    }
    const overtakes = this.#parts.onOvertake(name);
    const line: LineOptions = {
      name,
      limit,
      maxQueue: terms.maxQueue ?? max_queue,
      grace: terms.grace ?? grace,
      ...{ predict, clock, random },
      onOvertake: () => overtakes.inc(),
      onRefused: this.#parts.onRefused(name),
      onError: this.#parts.onError(name),
    };
    if (discipline === "barge") return new BargingGate(line, wakeMs);
    // Who waits for a database is part of a request that runs: it has no class and no key, and is not to be shed.
    if (terms.drains === false) return createGate({ ...line, ...(predict ? { predict: "deadline" } : {}) });
    return createGate({ ...line, ...this.#more });
  }
}
