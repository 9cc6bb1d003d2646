import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { processMetrics } from "../../plugins/metrics/process_metrics.ts";
import { Registry } from "../../plugins/metrics/registry.ts";
import { parseExposition } from "./parse.ts";

let folder = "";
beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), "fairlead-metrics-"))));
afterAll(() => rmSync(folder, { recursive: true }));

function read(proc: string): (name: string) => number | undefined {
  const registry = new Registry();
  processMetrics(registry, { version: "1.2.3", proc });
  const metrics = parseExposition(registry.expose());
  expect(metrics.get("fairlead_metrics_errors_total")!.samples[0]!.value).toBe(0);
  return (name) => metrics.get(name)?.samples[0]?.value;
}

describe("process metrics", () => {
  test("CPU time is the sum of both modes and grows", () => {
    const registry = new Registry();
    processMetrics(registry, { version: "1.2.3" });
    const seconds = (name: string) => parseExposition(registry.expose()).get(name)!.samples[0]!.value;
    const before = seconds("process_cpu_seconds_total");
    const spent = process.cpuUsage();
    while (process.cpuUsage(spent).user + process.cpuUsage(spent).system < 20_000);
    expect(seconds("process_cpu_seconds_total")).toBeGreaterThan(before);
    const parts = seconds("process_cpu_user_seconds_total") + seconds("process_cpu_system_seconds_total");
    expect(Math.abs(parts - seconds("process_cpu_seconds_total"))).toBeLessThan(0.5);
  });

  test("memory and the start are plausible", () => {
    const value = read("/proc/self");
    expect(value("process_resident_memory_bytes")).toBeGreaterThan(1e6);
    expect(value("fairlead_heap_used_bytes")).toBeGreaterThan(1e4);
    expect(value("process_start_time_seconds")).toBeLessThanOrEqual(Date.now() / 1000);
    expect(value("process_start_time_seconds")).toBeGreaterThan(Date.now() / 1000 - 3600);
  });

  const onLinux = process.platform === "linux" ? test : test.skip;

  onLinux("open descriptors follow what is opened", () => {
    const before = read("/proc/self")("process_open_fds")!;
    const fds = Array.from({ length: 10 }, (_, i) => openSync(join(folder, String(i)), "w"));
    try {
      expect(read("/proc/self")("process_open_fds")).toBeGreaterThanOrEqual(before + 10);
    } finally {
      fds.forEach((fd) => closeSync(fd));
    }
  });

  test("limits are read from procfs, and left out without it", () => {
    const proc = join(folder, "proc");
    mkdirSync(join(proc, "fd"), { recursive: true });
    for (const name of ["0", "1", "2", "3"]) writeFileSync(join(proc, "fd", name), "");
    for (const [soft, expected] of [["1024", 1024], ["unlimited", Infinity]] as const) {
      writeFileSync(
        join(proc, "limits"),
        `Limit          Soft Limit  Hard Limit  Units\nMax open files ${soft}        1048576     files\n`,
      );
      const value = read(proc);
      expect([value("process_open_fds"), value("process_max_fds")]).toEqual([3, expected]);
    }
    expect(read(join(folder, "none"))("process_open_fds")).toBe(undefined);
    expect(read(join(folder, "none"))("process_max_fds")).toBe(undefined);
  });

  test("the build is named", () => {
    const registry = new Registry();
    processMetrics(registry, { version: "1.2.3" });
    const { labels, value } = parseExposition(registry.expose()).get("fairlead_build_info")!.samples[0]!;
    expect(value).toBe(1);
    expect(labels["version"]).toBe("1.2.3");
    const running = process.versions as Readonly<Record<string, string | undefined>>;
    expect(labels["runtime"]).toBe(running["bun"] ? "bun" : "deno");
    expect(labels["runtime_version"]).toBe(running["bun"] ?? running["deno"]);
  });
});
