import type { Exchange, Outcome } from "../../core/exchange.ts";
import { AdaptiveLimit, type Stamp } from "./adaptive_limit.ts";
import type { Clock } from "../../core/clock.ts";
import type { SizedGate } from "./sized_gate.ts";

/** One execution under way, as far as it is measured. */
interface Measured {
  readonly stamp: Stamp;
  ended: number | undefined;
  /** Whether it was answered as usual; undefined before it was answered. */
  fine: boolean | undefined;
}

/** Measures what runs behind a gate, and sets its limit (or, in the shadow, does not). */
export class Steering {
  readonly adaptive: AdaptiveLimit;
  readonly #gate: SizedGate;
  readonly #clock: Clock;
  /** By exchange: an answer is told of with it, often after the permit came back. */
  readonly #measured = new WeakMap<Exchange, Measured>();
  #size: number;

  constructor(gate: SizedGate, clock: Clock, steer: boolean, random: () => number) {
    this.#gate = gate;
    this.#clock = clock;
    this.#size = gate.size;
    this.adaptive = new AdaptiveLimit({ ceiling: gate.size, steer, random }, clock.now());
  }

  began(x: Exchange): void {
    this.#measured.set(x, { stamp: this.adaptive.begin(this.#clock.now()), ended: undefined, fine: undefined });
    this.#apply();
  }

  /** Its permits are free. */
  ended(x: Exchange): void {
    const now = this.#clock.now();
    const measured = this.#measured.get(x);
    if (measured !== undefined) {
      measured.ended = now;
      if (measured.fine) this.adaptive.sample(measured.stamp, now);
    }
    this.adaptive.end(now);
    this.#apply();
  }

  answered(x: Exchange, { status, error }: Outcome): void {
    const measured = this.#measured.get(x);
    if (measured === undefined) return;
    measured.fine = status < 500 && status !== 499 && error === undefined;
    if (measured.fine && measured.ended !== undefined) this.adaptive.sample(measured.stamp, measured.ended);
  }

  #apply(): void {
    if (this.#size !== this.#gate.size) {
      this.#size = this.#gate.size;
      this.adaptive.resize(this.#size, this.#clock.now());
    }
    this.#gate.want(this.adaptive.limit);
  }
}
