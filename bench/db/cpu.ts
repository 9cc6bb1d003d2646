/**
 * CPU time to the nanosecond, from the scheduler: `/proc/<pid>/stat` counts in ticks of 10 ms, which is many sessions.
 *
 * @module
 */
import { readdirSync, readFileSync } from "node:fs";

/** Nanoseconds that the living threads of these processes have run. */
export function cpuNs(pids: readonly number[]): number {
  let sum = 0;
  for (const pid of pids) {
    for (const thread of threads(pid)) {
      try {
        sum += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ", 1)[0]);
      } catch {
        // It has ended meanwhile.
      }
    }
  }
  return sum;
}

function threads(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}
