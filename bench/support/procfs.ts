/**
 * What Linux knows about processes: who listens, who runs what, who uses the CPU and the memory.
 *
 * @module
 */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

interface Stat {
  readonly ppid: number;
  /** User and system time, in clock ticks. */
  readonly ticks: number;
  /** The same of the children that ended and were waited for. */
  readonly childTicks: number;
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

function pids(): number[] {
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map(Number);
}

export function stat(pid: number): Stat | undefined {
  const text = read(`/proc/${pid}/stat`);
  if (text === undefined) return undefined;
  // The name stands in brackets and may hold anything, so the fields are counted from the last bracket.
  const field = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return {
    ppid: Number(field[1]),
    ticks: Number(field[11]) + Number(field[12]),
    childTicks: Number(field[13]) + Number(field[14]),
  };
}

/** The file a process runs, or nothing when it is gone. */
export function executable(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/exe`);
  } catch {
    return undefined;
  }
}

/** The process and everything it started that still lives, the process itself first. */
export function tree(root: number): number[] {
  const children = new Map<number, number[]>();
  for (const pid of pids()) {
    const ppid = stat(pid)?.ppid;
    if (ppid === undefined) continue;
    const list = children.get(ppid);
    if (list === undefined) children.set(ppid, [pid]);
    else list.push(pid);
  }
  const all = [root];
  for (let i = 0; i < all.length; i++) all.push(...(children.get(all[i] as number) ?? []));
  return all;
}

/** Every process that holds a listening TCP socket on `port`. */
export function listeners(port: number): number[] {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const wanted = new Set<string>();
  for (const table of ["/proc/net/tcp", "/proc/net/tcp6"]) {
    for (const line of (read(table) ?? "").split("\n").slice(1)) {
      const field = line.trim().split(/\s+/);
      if (field[1]?.endsWith(suffix) && field[3] === "0A") wanted.add(`socket:[${field[9]}]`);
    }
  }
  if (wanted.size === 0) return [];
  return pids().filter((pid) => {
    try {
      return readdirSync(`/proc/${pid}/fd`).some((fd) => {
        try {
          return wanted.has(readlinkSync(`/proc/${pid}/fd/${fd}`));
        } catch {
          return false;
        }
      });
    } catch {
      return false;
    }
  });
}

/** Ticks of a set of processes; ones that are gone count as nothing. */
export function ticks(of: readonly number[]): number {
  return of.reduce((sum, pid) => sum + (stat(pid)?.ticks ?? 0), 0);
}

export interface MachineTicks {
  readonly total: number;
  /** Everything but idle and waiting for a disk; time stolen by the hypervisor is in it. */
  readonly busy: number;
}

export function machineTicks(): MachineTicks {
  const field = (read("/proc/stat") ?? "").split("\n", 1)[0]?.trim().split(/\s+/).slice(1, 9).map(Number) ?? [];
  const total = field.reduce((sum, n) => sum + n, 0);
  return { total, busy: total - (field[3] ?? 0) - (field[4] ?? 0) };
}

export interface Memory {
  readonly processes: number;
  /** Resident bytes, shared pages counted once for each process. */
  readonly rss: number;
  /** Proportional share: shared pages divided among those who share them. */
  readonly pss: number;
}

export function memory(of: readonly number[]): Memory {
  let rss = 0;
  let pss = 0;
  let processes = 0;
  for (const pid of of) {
    const text = read(`/proc/${pid}/smaps_rollup`);
    if (text === undefined) continue;
    processes++;
    rss += Number(/^Rss:\s+(\d+)/m.exec(text)?.[1] ?? 0) * 1024;
    pss += Number(/^Pss:\s+(\d+)/m.exec(text)?.[1] ?? 0) * 1024;
  }
  return { processes, rss, pss };
}
