/**
 * Looking at processes through /proc (Linux).
 *
 * @module
 */
import { readdirSync, readFileSync } from "node:fs";

export interface Process {
  readonly pid: number;
  readonly parent: number;
  /** One letter: `R`, `S`, `Z`, ... */
  readonly state: string;
  /** Clock ticks since boot; with the pid it names a process for ever. */
  readonly born: string;
  /** How it is scheduled: 0 is `SCHED_OTHER`, 3 `SCHED_BATCH`. */
  readonly policy: number;
}

/** What the system knows about a process, or undefined when there is none. */
function processOf(pid: number): Process | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return undefined;
  }
  // The name in parentheses may hold spaces and parentheses itself.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return { pid, state: fields[0]!, parent: Number(fields[1]), born: fields[19]!, policy: Number(fields[38]) };
}

/** How a running process is scheduled; undefined when there is none. */
export function policyOf(pid: number): number | undefined {
  return processOf(pid)?.policy;
}

/** Whether the process runs; one that has ended and was not yet waited for does not. */
export function alive(pid: number): boolean {
  const found = processOf(pid);
  return found !== undefined && found.state !== "Z";
}

function all(): Process[] {
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map((name) => processOf(Number(name)))
    .filter((found) => found !== undefined);
}

/** Pids of the running children of a process. */
export function childrenOf(pid: number): number[] {
  return all().filter((found) => found.parent === pid && found.state !== "Z").map((found) => found.pid);
}

/** Everything that descends from a process, parents first. */
export function descendantsOf(pid: number): Process[] {
  const everyone = all();
  const found: Process[] = [];
  const parents = [pid];
  for (let parent = parents.pop(); parent !== undefined; parent = parents.pop()) {
    for (const one of everyone) {
      if (one.parent === parent) {
        found.push(one);
        parents.push(one.pid);
      }
    }
  }
  return found;
}

export function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();
  } catch {
    return "";
  }
}

/** Resident memory in bytes, or 0 when the process is gone. */
export function residentBytes(pid: number): number {
  try {
    const line = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
    return line ? Number(line[1]) * 1024 : 0;
  } catch {
    return 0;
  }
}

/** Kills these very processes, if they still live: a pid that was given to another one since is left alone. */
export function killRemaining(processes: readonly Process[]): void {
  for (const { pid, born } of processes) {
    if (processOf(pid)?.born !== born) continue;
    try {
      process.kill(pid, "SIGKILL");
    } catch { /* gone meanwhile */ }
  }
}

/**
 * The php-fpm children below a server: children of a php-fpm master that descends from `serverPid`. Their command
 * line says `php-fpm: pool NAME`, the master's `php-fpm: master process`.
 */
export function fpmChildren(serverPid: number): number[] {
  return descendantsOf(serverPid).filter((one) => one.state !== "Z" && /^php-fpm: pool /.test(commandOf(one.pid)))
    .map((one) => one.pid);
}
