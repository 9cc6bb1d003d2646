/**
 * How many PHP children a machine should have when nobody said.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";

/** What the choice is made from. */
export interface Machine {
  /** CPUs this process may use, before any cgroup quota. */
  readonly cpus: number;
  /** The text of a file under /proc or /sys, or undefined. */
  read(path: string): string | undefined;
}

export interface ConcurrencyRule {
  /** Children for each CPU; PHP waits for its database most of the time. */
  readonly perCpu?: number;
  /** Megabytes one child needs, measured or assumed. */
  readonly childMb?: number;
  /** The part of the memory PHP may have. */
  readonly share?: number;
}

export interface Concurrency {
  readonly children: number;
  /** For the log: `8 children: 4 for each of 2 CPUs (memory allows 180)`. */
  readonly reason: string;
}

/** The machine this process runs on. */
export function machine(): Machine {
  return {
    cpus: availableParallelism(),
    read(path) {
      try {
        return readFileSync(path, "utf8");
      } catch {
        return undefined;
      }
    },
  };
}

/**
 * Chooses the number of children: so many for each CPU the cgroup leaves (v1 and v2), as many as half of the memory
 * holds, and never fewer than two, so that a page may call its own site.
 */
export function chooseConcurrency(on: Machine = machine(), rule: ConcurrencyRule = {}): Concurrency {
  const { perCpu = 4, childMb = 64, share = 0.5 } = rule;
  const groups = cgroupFolders(on.read("/proc/self/cgroup") ?? "");
  const cpus = Math.min(on.cpus, ...groups.cpu.map((dir) => quota(on, dir)));
  const memory = Math.min(
    availableMemory(on.read("/proc/meminfo") ?? ""),
    ...groups.memory.map((dir) => memoryLimit(on, dir)),
  );
  const byCpu = Math.max(2, Math.round(perCpu * cpus));
  const byMemory = memory === Infinity ? Infinity : Math.floor((memory * share) / (childMb * 1024 * 1024));
  const children = Math.max(2, Math.min(byCpu, byMemory));
  const cpuText = `${perCpu} for each of ${Number(cpus.toFixed(2))} CPU${cpus === 1 ? "" : "s"}`;
  const reason = byMemory < byCpu
    ? `${children} children: what memory allows at ${childMb} MB each (CPUs would allow ${byCpu})`
    : `${children} children: ${cpuText} (memory allows ${byMemory === Infinity ? "more" : byMemory})`;
  return { children, reason };
}

/**
 * The folders whose limits hold for this process, its own group's and every ancestor's. Inside a container
 * /proc/self/cgroup may name a path of the host; then only the root, which is the container's own group, exists.
 */
function cgroupFolders(text: string): { cpu: readonly string[]; memory: readonly string[] } {
  const cpu: string[] = [];
  const memory: string[] = [];
  for (const line of text.split("\n")) {
    const [, controllers, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    if (controllers === undefined || path === undefined) continue;
    const names = controllers.split(",");
    if (controllers === "") {
      cpu.push(...ancestors("/sys/fs/cgroup", path));
      memory.push(...ancestors("/sys/fs/cgroup", path));
    } else if (names.includes("cpu")) {
      cpu.push(...ancestors(`/sys/fs/cgroup/${controllers}`, path), ...ancestors("/sys/fs/cgroup/cpu", path));
    } else if (names.includes("memory")) {
      memory.push(...ancestors(`/sys/fs/cgroup/${controllers}`, path));
    }
  }
  return { cpu, memory };
}

function ancestors(root: string, path: string): string[] {
  const folders = [root];
  let folder = root;
  for (const part of path.split("/")) {
    if (part === "" || part === "." || part === "..") continue;
    folder += `/${part}`;
    folders.push(folder);
  }
  return folders;
}

/** CPUs the folder's quota is worth; Infinity without one. */
function quota(on: Machine, dir: string): number {
  const [max, every] = (on.read(`${dir}/cpu.max`) ?? "").trim().split(/\s+/);
  const amount = Number(max || on.read(`${dir}/cpu.cfs_quota_us`) || NaN);
  const period = Number(every || on.read(`${dir}/cpu.cfs_period_us`) || 100_000);
  return amount > 0 && period > 0 ? amount / period : Infinity;
}

/** Bytes the folder allows; Infinity without a limit (v1 shows a number near 2^63). */
function memoryLimit(on: Machine, dir: string): number {
  const bytes = Number(on.read(`${dir}/memory.max`) || on.read(`${dir}/memory.limit_in_bytes`) || NaN);
  return bytes > 0 && bytes < 2 ** 60 ? bytes : Infinity;
}

function availableMemory(meminfo: string): number {
  const kilobytes = /^MemAvailable:\s+(\d+) kB/m.exec(meminfo)?.[1];
  return kilobytes === undefined ? Infinity : Number(kilobytes) * 1024;
}
