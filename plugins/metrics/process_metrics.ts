import { readdirSync, readFileSync } from "node:fs";
import type { Registry } from "./registry.ts";

/** Settings of {@linkcode processMetrics}. */
export interface ProcessMetricsOptions {
  /** The server's version, for `fairlead_build_info`. */
  readonly version: string;
  /** The folder of this process in procfs; without it (not on Linux) the file descriptors are not shown. */
  readonly proc?: string;
}

/** Registers what the process costs, under the names Prometheus client libraries use where there are any. */
export function processMetrics(registry: Registry, { version, proc = "/proc/self" }: ProcessMetricsOptions): void {
  const cpu = () => process.cpuUsage();
  registry.counterOf("process_cpu_seconds_total", "CPU time used, in user and system mode", () => {
    const { user, system } = cpu();
    return (user + system) / 1e6;
  });
  registry.counterOf("process_cpu_user_seconds_total", "CPU time used in user mode", () => cpu().user / 1e6);
  registry.counterOf("process_cpu_system_seconds_total", "CPU time used in system mode", () => cpu().system / 1e6);

  registry.gauge("process_resident_memory_bytes", "Resident memory", () => process.memoryUsage().rss);
  registry.gauge("fairlead_heap_used_bytes", "JavaScript heap in use", () => process.memoryUsage().heapUsed);
  registry.gauge("fairlead_heap_total_bytes", "JavaScript heap reserved", () => process.memoryUsage().heapTotal);

  const started = performance.timeOrigin / 1000;
  registry.gauge("process_start_time_seconds", "When the process started, in seconds since 1970", () => started);

  const maxFds = readMaxFds(proc);
  if (maxFds !== undefined) {
    // The folder itself is open while it is read.
    registry.gauge("process_open_fds", "Open file descriptors", () => readdirSync(`${proc}/fd`).length - 1);
    registry.gauge("process_max_fds", "Open file descriptors allowed", () => maxFds);
  }

  const { name, version: runtimeVersion } = runtime();
  registry.gauges(
    "fairlead_build_info",
    "Always 1; the labels say what is running",
    ["version", "runtime", "runtime_version"],
    () => [[[version, name, runtimeVersion], 1]],
  );
}

/** The soft limit, or undefined where there is no procfs to read. */
function readMaxFds(proc: string): number | undefined {
  try {
    const soft = /^Max open files\s+(\S+)/m.exec(readFileSync(`${proc}/limits`, "utf8"))?.[1];
    if (soft === undefined) return undefined;
    return soft === "unlimited" ? Infinity : Number(soft);
  } catch {
    return undefined;
  }
}

function runtime(): { readonly name: string; readonly version: string } {
  const { bun, deno, node } = process.versions as Readonly<Record<string, string | undefined>>;
  if (bun !== undefined) return { name: "bun", version: bun };
  if (deno !== undefined) return { name: "deno", version: deno };
  return { name: "node", version: node ?? "" };
}
