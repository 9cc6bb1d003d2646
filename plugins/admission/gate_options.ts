import type { Criticality, Refusal } from "../../core/contracts/gates.ts";
import type { Clock } from "../../core/clock.ts";

/** Settings that every gate has: those of a {@linkcode FairGate} with one line in order of arrival. */
export interface LineOptions {
  readonly name?: string;
  /** Permits, at least 1. */
  readonly limit: number;
  /** Most waiters in line; no bound when absent. */
  readonly maxQueue?: number;
  /** Longest wait in ms; 0 refuses whoever cannot be let in at once. No bound when absent. */
  readonly grace?: number;
  /**
   * Refuses a waiter as `predicted` when, by the rate at which permits come back, its own deadline will have passed before its turn,
   * or (with `true`), while there are too many, when it would likely wait for the whole grace window in vain; see {@linkcode Forecast}.
   * False when absent.
   */
  readonly predict?: boolean | "deadline";
  readonly clock?: Clock;
  /** In [0, 1); spreads `retryAfter`. */
  readonly random?: () => number;
  /** Told of each overtake; a grant past an older waiter that would have fitted. */
  readonly onOvertake?: () => void;
  /** Told of each refusal, before whoever is refused; who leaves by itself is none. It must not throw and not call the gate. */
  readonly onRefused?: (reason: Refusal) => void;
  /** Told what a waiter's callback threw; the line goes on. Thrown from a microtask when absent. */
  readonly onError?: (error: unknown) => void;
}

/**
 * Who goes first of one key in one class: the oldest; the newest; or the oldest until the class has had a line for
 * longer than CoDel's interval, then the newest until it has none.
 */
export type Order = "fifo" | "lifo" | "adaptive_lifo";

/** What a key's turn is measured in: permits, or the time its permits are out. */
export type Fair = "count" | "time";

/**
 * Settings of a gate made by `createGate`. With none of those below but `order: "fifo"` it is a {@linkcode FairGate}, else a
 * {@linkcode ClassedGate}, whose permits know whose they are: give a permit that `enter` gave back with `leave(waiter)`.
 */
export interface GateOptions extends LineOptions {
  /**
   * Tells classes apart, and says what share of the permits each has while all of them wait; 8, 4, 2 and 1 for those not
   * named. A class that waits always gets its share, never more than what the others leave and never nothing.
   * All are one class when absent.
   */
  readonly shares?: Partial<Readonly<Record<Criticality, number>>>;
  /** Tells keys apart: inside a class they take turns. All are one key when absent. */
  readonly keys?: boolean;
  /**
   * Most permits that one key may hold. Who comes above it is refused as `key` at once, or waits for a permit of its own key
   * when there is a `keyQueue`. Implies `keys`; waiters without a key have no cap. 0, or absent: no cap.
   */
  readonly keyLimit?: number;
  /** Most waiters of one key; more are refused as `key`. Implies `keys`. 0, or absent: no bound of its own. */
  readonly keyQueue?: number;
  /**
   * Keys with a record of their own at a time, 10,000 when absent. Those beyond share 64 records by their hash, without
   * caps of their own (stochastic fair queuing; McKenney, INFOCOM 1990): order inside a key still holds.
   */
  readonly maxKeys?: number;
  /** How much of its class a key gets compared with others; above 0, asked for when the key turns up. 1 when absent. */
  readonly keyWeight?: (key: string) => number;
  /** `count` when absent. `time` charges a key, and a class, for how long its permits are out. */
  readonly fair?: Fair;
  /** `fifo` when absent. The others need a `grace`, or old waiters would be left for ever. */
  readonly order?: Order;
  /** The classes that `order` is for; the others stay `fifo`. `sheddable_plus` and `sheddable` when absent. */
  readonly newestFirst?: readonly Criticality[];
  /** Refuses as `codel` who has waited long in a class whose line stands; see {@linkcode Codel}. False when absent. */
  readonly codel?: boolean;
  /**
   * Turns `sheddable`, then `sheddable_plus` away as `class` before they queue, while the gate is overloaded.
   * Of account only with `shares`. False when absent.
   */
  readonly threshold?: boolean;
}
