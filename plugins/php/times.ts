import type { Exchange } from "../../core/exchange.ts";

/** Time in the two ways it is needed where PHP is told of it; a test has its own. */
export interface Times {
  /** Milliseconds, on the clock of `Exchange.deadline`. */
  monotonic(): number;
  /** Milliseconds since 1970. */
  wall(): number;
}

export const systemTimes: Times = { monotonic: () => performance.now(), wall: () => Date.now() };

/** When the exchange must have ended, as PHP is told in `REQUEST_DEADLINE`: seconds since 1970, with a fraction. */
export function requestDeadline({ deadline }: Pick<Exchange, "deadline">, times: Times = systemTimes): number {
  return (times.wall() + deadline - times.monotonic()) / 1000;
}
