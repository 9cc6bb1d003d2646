import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { connect, createServer } from "node:net";
import { between, type Counters } from "../../bench/db/counters.ts";
import { DelayLine, portOf, startRelay } from "../../bench/db/delaying_relay.ts";
import { works } from "../../bench/db/experiments.ts";
import { listeningInodes, tcpHolders } from "../../bench/db/identity.ts";
import { parseOptions } from "../../bench/db/options.ts";
import { bars, chart, markdown } from "../../bench/db/report.ts";
import type { Report } from "../../bench/db/report_types.ts";
import { times } from "../../bench/db/statistics.ts";
import { type Sample, summarize } from "../../bench/db/summary.ts";
import process from "node:process";

const none: Counters = { Connections: 0, Com_select: 0, Com_set_option: 0, Com_admin_commands: 0, Questions: 0 };

function sample(door: string, round: number, mean: number, more: Partial<Sample> = {}): Sample {
  return {
    server: "mariadb",
    experiment: "sessions",
    work: "WordPress-shaped, mysqli",
    door,
    round,
    count: 2000,
    mean,
    p50: mean,
    p99: mean * 2,
    max: mean * 3,
    clients: 1,
    perSecond: 1e6 / mean,
    proxyCpuUs: door.startsWith("direct") ? 0 : 60,
    databaseCpuUs: 100,
    clientCpuUs: 80,
    counters: none,
    foreign: 0,
    faults: [],
    ...more,
  };
}

describe("times", () => {
  test("are nearest-rank percentiles in microseconds", () => {
    const ns = Array.from({ length: 200 }, (_, i) => (200 - i) * 1000);
    expect(times(ns)).toEqual({ count: 200, mean: 100.5, p50: 100, p99: 198, max: 200 });
  });

  test("percentiles are times that were measured, in order", () => {
    fc.assert(fc.property(fc.array(fc.integer({ min: 1, max: 1e9 }), { minLength: 1 }), (ns) => {
      const { p50, p99, max, mean } = times(ns);
      for (const us of [p50, p99, max]) expect(ns.some((one) => one / 1000 === us)).toBe(true);
      expect(p50 <= p99 && p99 <= max && mean <= max).toBe(true);
      expect(ns.filter((one) => one / 1000 <= p50).length * 2).toBeGreaterThanOrEqual(ns.length);
    }));
  });
});

describe("counters", () => {
  test("the second look itself is not counted", () => {
    const after = { Connections: 5, Com_select: 7, Com_set_option: 1, Com_admin_commands: 2, Questions: 11 };
    expect(between(none, after)).toEqual({ ...after, Questions: 10 });
  });
});

describe("summarize", () => {
  test("takes ratios within a round and leaves windows out that could not be trusted", () => {
    const cells = summarize([
      sample("direct tcp", 0, 100),
      sample("fairlead-bun tcp smart", 0, 80),
      sample("direct tcp", 1, 200),
      sample("fairlead-bun tcp smart", 1, 150),
      sample("direct tcp", 2, 100, { faults: ["others"] }),
      sample("fairlead-bun tcp smart", 2, 900),
    ]);
    expect(cells.map((cell) => [cell.door, cell.good, cell.windows, cell.mean])).toEqual([
      ["direct tcp", 2, 3, 150],
      ["fairlead-bun tcp smart", 3, 3, 150],
    ]);
    expect(cells[0]?.meanRatio).toBe(undefined);
    expect(cells[1]?.meanRatio).toEqual({ median: 0.775, min: 0.75, max: 0.8 });
  });

  test("counts the most that any window saw, trusted or not", () => {
    const counters = (n: number) => ({ counters: { ...none, Connections: n } });
    const cells = summarize([
      sample("direct tcp", 0, 100, counters(2000)),
      sample("direct tcp", 1, 100, { ...counters(2001), faults: ["others"] }),
    ]);
    expect(cells[0]?.counters.Connections).toBe(2001);
  });
});

describe("identity", () => {
  const table = (lines: string) => `Num       RefCount Protocol Flags    Type St Inode Path\n${lines}`;

  test("finds listeners by the end of their path, and no connections", () => {
    const text = table(
      "0: 00000002 00000000 00010000 0001 01 11 /tmp/f-1/s\n" +
        "0: 00000003 00000000 00000000 0001 03 12 /tmp/f-1/s\n" +
        "0: 00000002 00000000 00010000 0001 01 13 /tmp/f-2/s\n" +
        "0: 00000002 00000000 00010000 0001 01 14\n" +
        "0: 00000002 00000000 00010000 0001 01 15 @f\n",
    );
    expect([...listeningInodes(text, "/srv/chroot/tmp/f-1/s")]).toEqual(["socket:[11]"]);
  });

  test("knows HAProxy's name of a socket", () => {
    const text = table("0: 00000002 00000000 00010000 0001 01 11 /tmp/h/mysql.sock.4711.tmp\n");
    expect([...listeningInodes(text, "/tmp/h/mysql.sock")]).toEqual(["socket:[11]"]);
  });
});

describe("the delaying relay", () => {
  test("acts in order, and never early", async () => {
    const line = new DelayLine(3);
    const seen: number[] = [];
    const start = performance.now();
    await new Promise<void>((resolve) => {
      for (let i = 0; i < 5; i++) line.send(() => seen.push(i) === 5 && resolve());
    });
    expect(seen).toEqual([0, 1, 2, 3, 4]);
    expect(performance.now() - start).toBeGreaterThanOrEqual(3);
  });

  test("holds every byte, the handshake and the end", async () => {
    const server = createServer((socket) => {
      socket.on("error", () => {});
      socket.on("data", (bytes) => socket.end(bytes));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const relay = await startRelay(portOf(server), 5);
    expect(tcpHolders(portOf(relay))).toEqual([process.pid]);
    const start = performance.now();
    const client = connect({ host: "127.0.0.1", port: portOf(relay) });
    client.write("hello");
    let text = "";
    client.on("data", (bytes) => text += bytes.toString());
    await new Promise<void>((resolve) => client.on("end", () => resolve()));
    // Three for the handshake, one each way for the bytes, and the answer's end with its last byte.
    expect(performance.now() - start).toBeGreaterThanOrEqual(25);
    expect(text).toBe("hello");
    client.destroy();
    for (const one of [relay, server]) await new Promise((resolve) => one.close(resolve));
  });
});

describe("options", () => {
  const parsed = (...args: string[]) => {
    const o = parseOptions(args);
    if (o === "help") throw new Error("no options");
    return o;
  };

  test("--quick changes what is not said", () => {
    const o = parsed("--quick", "--sessions", "50");
    expect([o.sizes.sessions, o.rounds, o.patience]).toEqual([50, 1, 0]);
    expect(parsed().sizes.sessions).toBe(2000);
  });

  test("names what it knows when it is given something else", () => {
    expect(() => parsed("--arms", "proxysql")).toThrow('Unknown arm "proxysql", expected one of haproxy,');
    expect(() => parsed("--rounds", "0")).toThrow('--rounds is "0", expected a whole number of at least 1');
  });
});

describe("the report", () => {
  const report: Report = {
    format: 1,
    startedAt: "2026-11-30T00:00:00.000Z",
    machine: {
      cpu: "a cpu",
      cores: 2,
      memoryGiB: 24,
      kernel: "6.18",
      system: "Debian",
      versions: { php: "PHP 8.2.1" },
    },
    rounds: 1,
    delayMs: 1,
    servers: { mariadb: "10.11.19-MariaDB" },
    databaseOptions: [],
    arms: { "direct tcp": "no proxy" },
    processes: [],
    works: works({ sessions: 2000, queries: 3000, seconds: 1, delayed: 100 }),
    samples: [
      sample("fairlead-bun tcp smart", 0, 80, { counters: { ...none, Com_select: 2000, Questions: 2003 } }),
      sample("direct tcp again", 0, 101),
      sample("direct tcp", 0, 100),
    ],
    memory: [],
  };

  test("has the control first, the ratios and what the server counted", () => {
    const text = markdown(report, "db.svg");
    const rows = text.split("\n").filter((line) => /^\| (direct|fairlead)/.test(line));
    expect(rows.map((row) => row.split(" | ")[0])).toEqual([
      "| direct tcp",
      "| direct tcp again",
      "| fairlead-bun tcp smart",
    ]);
    expect(rows[2]).toContain("| 0.80 (0.80-0.80) |");
    expect(rows[2]).toContain("| 2003 |");
    expect(text).toContain("MariaDB 10.11.19:");
  });

  test("compares queries with HAProxy as clients reach it", () => {
    const query = (door: string, us: number) => sample(door, 0, us, { experiment: "queries", work: "one row" });
    const text = markdown({
      ...report,
      samples: [
        query("direct tcp", 50),
        query("haproxy tcp", 80),
        query("haproxy socket", 60),
        query("fairlead-bun tcp smart", 84),
        query("fairlead-bun socket smart", 63),
      ],
    });
    const rows = text.split("\n").filter((line) => line.startsWith("| fairlead"));
    expect(rows.map((row) => row.split(" | ")[7])).toEqual(["1.05 (1.05-1.05)", "1.05 (1.05-1.05)"]);
  });

  test("draws no control and no second control", () => {
    expect(bars(report).map((bar) => [bar.arm, bar.group])).toEqual([[
      "fairlead-bun tcp",
      "WordPress-shaped, mariadb",
    ]]);
    expect(chart(report)).toContain(">0.80</text>");
  });

  test("every work is told by a name of its own, and has the same control", () => {
    const names = report.works.map((work) => `${work.experiment} ${work.name}`);
    expect(new Set(names).size).toBe(names.length);
    expect(new Set(report.works.map((work) => work.doors[0]))).toEqual(new Set(["direct tcp"]));
  });
});
