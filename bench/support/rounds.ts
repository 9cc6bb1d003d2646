/**
 * Rounds: all arms one right after the other, and ratios within a round, so that a machine that drifts does so for all.
 *
 * @module
 */
import type { Judged } from "./trust.ts";

/**
 * The order of the arms in a round: turned by one place every second round, and every other round backwards, so that
 * a drift of the machine falls on all arms alike (two arms: A B, B A, B A, A B).
 */
export function order<T>(arms: readonly T[], round: number): T[] {
  const turn = (round >> 1) % Math.max(1, arms.length);
  const turned = [...arms.slice(turn), ...arms.slice(0, turn)];
  return round % 2 === 0 ? turned : turned.reverse();
}

interface Sample extends Judged {
  readonly round: number;
}

/** A figure of each trusted window over that of the trusted window of `rivals` in the same round. */
export function ratios<T extends Sample>(
  samples: readonly T[],
  rivals: readonly T[],
  pick: (sample: T) => number,
): number[] {
  return samples.flatMap((sample) => {
    if (sample.faults.length > 0) return [];
    const rival = rivals.find(({ round, faults }) => round === sample.round && faults.length === 0);
    return rival === undefined ? [] : [pick(sample) / pick(rival)];
  });
}
