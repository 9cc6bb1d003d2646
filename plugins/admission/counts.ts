import type { Refusal } from "../../core/contracts/gates.ts";

/** What became of everyone who came to a gate since it was made. */
export interface Counts {
  /** Let in without a wait. */
  readonly immediate: number;
  /** Let in after a wait. */
  readonly queued: number;
  readonly refused: Readonly<Record<Exclude<Refusal, "cancelled">, number>>;
  /** Left the line by themselves. */
  readonly cancelled: number;
  /** Grants given while an older waiter stood at the head of the line and would have fitted; 0 in `fifo`. */
  readonly overtakes: number;
}

/** The same, for the gate that counts. */
export type Tally =
  & { -readonly [K in Exclude<keyof Counts, "refused">]: number }
  & { readonly refused: Record<Exclude<Refusal, "cancelled">, number> };

export function tally(): Tally {
  return {
    immediate: 0,
    queued: 0,
    refused: { full: 0, grace: 0, deadline: 0, draining: 0, predicted: 0, class: 0, evicted: 0, key: 0, codel: 0 },
    cancelled: 0,
    overtakes: 0,
  };
}
