/**
 * CPU time to the nanosecond, from the scheduler: `/proc/<pid>/stat` counts in ticks of 10 ms, which is many sessions.
 *
 * @module
 */
import { readdirSync, readFileSync } from "node:fs";

/** Nanoseconds that each living thread has run, by `pid/tid`. */
export type CpuTimes = ReadonlyMap<string, number>;

export function cpuTimes(pids: readonly number[]): CpuTimes {
  const found = new Map<string, number>();
  for (const pid of pids) {
    for (const thread of threads(pid)) {
      try {
        const text = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8");
        found.set(`${pid}/${thread}`, Number(text.split(" ", 1)[0]));
      } catch {
        // It has ended meanwhile.
      }
    }
  }
  return found;
}

/** Nanoseconds that ran between two looks; what a thread did that ended before the second one is not known. */
export function cpuBetween(before: CpuTimes, after: CpuTimes): number {
  let sum = 0;
  for (const [thread, ns] of after) sum += ns - (before.get(thread) ?? 0);
  return sum;
}

function threads(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}
