/**
 * A perfect queue: strict first come, first served, before `workers` of one and the same speed.
 *
 * @module
 */
export interface Served {
  /** Ms from arrival to the end of the answer, of those that were served. */
  readonly sojourns: readonly number[];
  readonly refused: number;
}

/**
 * @param arrivals ms, ascending
 * @param service ms that each takes
 * @param patience whoever would wait longer (ms) is refused at once
 */
export function perfectQueue(arrivals: readonly number[], workers: number, service: number, patience: number): Served {
  const free = new Array<number>(workers).fill(0);
  const sojourns: number[] = [];
  let refused = 0;
  for (const at of arrivals) {
    let first = 0;
    for (let i = 1; i < workers; i++) if (free[i]! < free[first]!) first = i;
    const start = Math.max(at, free[first]!);
    if (start - at > patience) {
      refused++;
      continue;
    }
    free[first] = start + service;
    sojourns.push(start + service - at);
  }
  return { sojourns, refused };
}
