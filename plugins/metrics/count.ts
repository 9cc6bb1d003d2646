import type { Counter } from "../../core/contracts/meter.ts";

/** Told of a number that cannot be kept; must not throw. */
export type Refuse = (error: Error) => void;

/** A counter's number. An amount that is negative or not finite would spoil it for good, so it is refused. */
export class Count implements Counter {
  value = 0;
  readonly #refuse: Refuse;

  constructor(refuse: Refuse = () => {}) {
    this.#refuse = refuse;
  }

  inc(by = 1): void {
    if (by >= 0 && by < Infinity) this.value += by;
    else this.#refuse(new RangeError(`a counter only grows, got ${by}`));
  }
}
