import { ClassedGate } from "./classed_gate.ts";
import { FairGate } from "./fair_gate.ts";
import type { GateOptions } from "./gate_options.ts";

/**
 * The cheapest gate that does what `options` ask for: a {@linkcode FairGate} unless classes, keys, CoDel or another order
 * are wanted.
 *
 * @throws CoreError `ADMISSION_NUMBER` for a limit, cap or share that is none, `ADMISSION_ORDER` for an order other than
 * `fifo` without a grace window.
 * @example
 * ```ts
 * const gate = createGate({ limit: 8, maxQueue: 500, grace: 10_000, shares: {}, keyLimit: 4, predict: true });
 * const waiter = { criticality: "sheddable", key: "203.0.113.7", onGrant: run, onRefuse: answer } as const;
 * if (gate.enter(waiter) === "granted") run();
 * // when the work has ended:
 * gate.leave(waiter);
 * ```
 */
export function createGate(options: GateOptions): FairGate {
  const { shares, keys, keyLimit = 0, keyQueue = 0, order = "fifo", codel, threshold } = options;
  const plain = shares === undefined && !keys && keyLimit === 0 && keyQueue === 0 && order === "fifo" && !codel &&
    !threshold;
  return plain ? new FairGate(options) : new ClassedGate(options);
}
