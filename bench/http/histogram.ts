/**
 * Exact latency statistics from a histogram with one bin a microsecond.
 *
 * @module
 */

/** Latency in microseconds to the number of requests that took exactly that long. */
export type Histogram = ReadonlyMap<number, number>;

export interface LatencyStats {
  readonly count: number;
  /** All in milliseconds. */
  readonly mean: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
  /** Mean of the squares over twice the mean: how long, on average, an unfinished request has been waiting (ms). */
  readonly meanAge: number;
}

/**
 * Undoes wrk's correction for coordinated omission.
 *
 * When a run ends, wrk takes the mean interval between two requests of a connection as the pace the client had
 * wanted, and adds for every sample of at least twice that interval made-up samples of one interval less, two less,
 * and so on. A closed loop has no such pace, and the made-up samples are a verdict on the tail where we want a
 * measurement of it. Since wrk walks upwards and only ever adds below the sample at hand, walking downwards and taking
 * away gives back exactly what was measured; the caller can prove it by counting.
 *
 * @param corrected what wrk reports
 * @param interval `duration / floor(requests / connections)`, whole microseconds, as wrk computes it
 */
export function withoutCorrection(corrected: Histogram, interval: number): Map<number, number> {
  const raw = new Map(corrected);
  if (interval <= 0) return raw;
  const descending = [...corrected.keys()].sort((a, b) => b - a);
  for (const value of descending) {
    if (value < interval * 2) break;
    const count = raw.get(value) ?? 0;
    if (count === 0) continue;
    for (let below = value - interval; below > interval; below -= interval) {
      const left = (raw.get(below) ?? 0) - count;
      if (left === 0) raw.delete(below);
      else raw.set(below, left);
    }
  }
  return raw;
}

export function total(histogram: Histogram): number {
  let count = 0;
  for (const n of histogram.values()) count += n;
  return count;
}

/** Percentiles are nearest-rank: a latency that some request really had. */
export function latencyStats(histogram: Histogram): LatencyStats {
  const ascending = [...histogram].sort((a, b) => a[0] - b[0]);
  const count = total(histogram);
  let sum = 0;
  let squares = 0;
  for (const [us, n] of ascending) {
    sum += us * n;
    squares += us * us * n;
  }
  const at = (q: number): number => {
    let left = Math.max(1, Math.ceil(q * count));
    for (const [us, n] of ascending) {
      left -= n;
      if (left <= 0) return us / 1000;
    }
    return 0;
  };
  return {
    count,
    mean: count === 0 ? 0 : sum / count / 1000,
    p50: at(0.5),
    p90: at(0.9),
    p99: at(0.99),
    p999: at(0.999),
    max: (ascending.at(-1)?.[0] ?? 0) / 1000,
    meanAge: sum === 0 ? 0 : squares / (2 * sum) / 1000,
  };
}

export interface Little {
  /** 1 when every moment of every client is accounted for. */
  readonly ratio: number;
  /** What is not accounted for, for each request (us): the generator's own time between two requests. */
  readonly missingUs: number;
}

/**
 * How far a closed-loop window is from Little's law.
 *
 * `c` clients live `seconds` each; all of that time is in the latencies of the finished requests, except the age of
 * the ones that were cut off when the window closed. A ratio away from 1 means samples were lost, the generator itself
 * was the bottleneck, or some requests starve.
 */
export function little(stats: LatencyStats, clients: number, seconds: number): Little {
  const lived = clients * Math.max(0, seconds * 1000 - stats.meanAge);
  if (lived === 0 || stats.count === 0) return { ratio: 0, missingUs: 0 };
  const found = stats.mean * stats.count;
  return { ratio: found / lived, missingUs: (lived - found) / stats.count * 1000 };
}

/** Within 3 %, or within what wrk itself needs between two requests, which weighs when an answer takes 0.1 ms. */
export function plausible({ ratio, missingUs }: Little): boolean {
  return (ratio >= 0.97 && ratio <= 1.03) || (missingUs >= 0 && missingUs <= 10);
}
