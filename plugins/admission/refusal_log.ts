import type { Clock } from "../../core/clock.ts";
import type { Refusal } from "../../core/contracts/gates.ts";
import type { Log } from "../../core/plugin.ts";
import { Sparing } from "../../core/sparing.ts";

/** Tells the log who is turned away and why: one line a second for each gate and reason, with how many they were. */
export class RefusalLog {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #gates = new Map<string, Sparing<Refusal, number>>();

  constructor(log: Log, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  /** What the gate of that name is to tell of each refusal. */
  of(gate: string): (reason: Refusal) => void {
    const refusals = new Sparing<Refusal, number>(
      this.#clock,
      (sum, one) => sum + one,
      (reason, refused) => this.#log("warn", "Turned work away", { gate, reason, refused }),
    );
    this.#gates.set(gate, refusals);
    return (reason) => refusals.happened(reason, 1);
  }

  /** Writes what is still to be written. */
  close(): void {
    for (const refusals of this.#gates.values()) refusals.close();
  }
}
