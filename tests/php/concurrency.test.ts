import { describe, expect, test } from "bun:test";
import { chooseConcurrency, machine } from "../../plugins/php/concurrency.ts";

const gb = 1024 ** 3;
const on = (cpus: number, files: Record<string, string>) => ({ cpus, read: (path: string) => files[path] });
const memory = (bytes: number) => ({ "/proc/meminfo": `MemTotal: 1 kB\nMemAvailable:   ${bytes / 1024} kB\n` });

describe("chooseConcurrency", () => {
  test("counts CPUs where memory is plenty", () => {
    expect(chooseConcurrency(on(2, memory(22.5 * gb))))
      .toEqual({ children: 8, reason: "8 children: 4 for each of 2 CPUs (memory allows 180)" });
    expect(chooseConcurrency(on(1, {})).reason).toBe("4 children: 4 for each of 1 CPU (memory allows more)");
  });

  test("is bounded by memory, and never below two", () => {
    expect(chooseConcurrency(on(16, memory(1 * gb))))
      .toEqual({ children: 8, reason: "8 children: what memory allows at 64 MB each (CPUs would allow 64)" });
    expect(chooseConcurrency(on(16, memory(gb / 16))).children).toBe(2);
    expect(chooseConcurrency(on(0.1, memory(gb))).children).toBe(2);
    expect(chooseConcurrency(on(2, memory(4 * gb)), { perCpu: 10, childMb: 256, share: 0.75 }).children).toBe(12);
  });

  test("obeys cgroup v2, its own group's and an ancestor's", () => {
    const v2 = {
      ...memory(64 * gb),
      "/proc/self/cgroup": "0::/a/b\n",
      "/sys/fs/cgroup/a/cpu.max": "150000 100000\n",
      "/sys/fs/cgroup/a/b/cpu.max": "max 100000\n",
      "/sys/fs/cgroup/a/b/memory.max": `${gb}\n`,
      "/sys/fs/cgroup/a/memory.max": "max\n",
    };
    expect(chooseConcurrency(on(8, v2)))
      .toEqual({ children: 6, reason: "6 children: 4 for each of 1.5 CPUs (memory allows 8)" });
    expect(chooseConcurrency(on(1, v2)).children).toBe(4);
  });

  test("obeys cgroup v1, also where a container's root is the group", () => {
    const v1 = {
      ...memory(64 * gb),
      "/proc/self/cgroup": "4:memory:/docker/x\n3:cpu,cpuacct:/docker/x\n1:name=systemd:/\n0::/\n",
      "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "200000\n",
      "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
      "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
      "/sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes": `${gb / 2}\n`,
    };
    expect(chooseConcurrency(on(8, v1)).reason).toBe(
      "4 children: what memory allows at 64 MB each (CPUs would allow 8)",
    );
    expect(chooseConcurrency(on(8, { ...v1, "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1\n" })).reason)
      .toContain("CPUs would allow 32");
  });

  test("takes nonsense for no limit", () => {
    for (const text of ["", "max", "x", "0 0", "-5 100000", "100000 0"]) {
      const files = {
        "/proc/self/cgroup": "0::/../..\nbad\n",
        "/sys/fs/cgroup/cpu.max": text,
        "/sys/fs/cgroup/memory.max": text,
      };
      expect([text, chooseConcurrency(on(2, files)).children]).toEqual([text, 8]);
    }
  });

  test("gives this machine at least two", () => {
    expect(chooseConcurrency(machine()).children).toBeGreaterThan(1);
  });
});
