/**
 * Measures the database proxy against no proxy and against others, on the same machine and in the same run: in every
 * round all doors are measured one right after the other.
 *
 * `bun bench/db/run.ts --json db.json`, then `bun bench/db/report.ts db.json --svg db.svg > section.md`
 *
 * @module
 */
import process from "node:process";
import type { Database, DatabaseOptions } from "../../tests/support/database.ts";
import { hasMariaDb, startMariaDb } from "../../tests/support/mariadb.ts";
import { mysql9Absent, mysql9Root, startMysql9 } from "../../tests/support/mysql9.ts";
import { machine } from "../support/machine.ts";
import { benchmark, say, writeJson } from "../support/main.ts";
import { order } from "../support/rounds.ts";
import { distrust, trusted } from "../support/trust.ts";
import type { Door } from "./arms/arm.ts";
import { DIRECT_ABOUT } from "./arms/direct.ts";
import { STRATEGIES } from "./arms/fairlead.ts";
import { Client, type Job } from "./client.ts";
import { type Work, works } from "./experiments.ts";
import { DATABASE_OPTIONS, Field, type FieldOptions } from "./field.ts";
import { type MemoryResult, weigh } from "./memory.ts";
import { type Options, parseOptions, USAGE } from "./options.ts";
import type { Report, ReportProcess } from "./report_types.ts";
import { memoryText, samplesText } from "./report_text.ts";
import type { Sample, ServerKind } from "./summary.ts";
import { measure } from "./window.ts";

interface Server {
  readonly kind: ServerKind;
  /** Why it cannot run here. */
  readonly absent: string | undefined;
  start(options: DatabaseOptions): Promise<Database>;
}

const servers: readonly Server[] = [
  { kind: "mariadb", absent: hasMariaDb() ? undefined : "no MariaDB: install mariadb-server", start: startMariaDb },
  { kind: "mysql", absent: mysql9Absent(), start: startMysql9 },
];

/** One window that can be trusted, if there is any. */
async function window(o: Options, field: Field, door: Door, work: Work, round: number): Promise<Sample> {
  const server = field.database.kind;
  const { clients } = work;
  const once = async () => {
    const found = await measure(door, work.job, {
      clients,
      who: field.who,
      databasePid: field.database.pid,
      watch: field.watch,
      others: field.others,
      maxForeign: o.maxForeign,
    });
    const { p50, p99, mean, foreign, faults } = found;
    say(
      `round ${round + 1}  ${server} ${work.experiment} (${work.name}) ${door.name}: p50 ${p50.toFixed(1)}, ` +
        `p99 ${p99.toFixed(1)}, mean ${mean.toFixed(1)} us, foreign ${(foreign * 100).toFixed(0)} %${distrust(faults)}`,
    );
    return found;
  };
  const result = await trusted(o, once, { quietFirst: false });
  return { server, experiment: work.experiment, work: work.name, door: door.name, round, ...result };
}

/** Doors of a work that are there, the control first. */
function doorsOf(o: Options, field: Field, work: Work): Door[] {
  const [control] = work.doors;
  return work.doors.filter((name) => name === control || name.includes(o.doors)).flatMap((name) => {
    return field.find(work.experiment === "delay" ? field.delayed : field.processes, name) ?? [];
  });
}

/**
 * Brings the just-in-time compilers to where they are after a minute's work: they need some twenty thousand sessions. The
 * proxies behind the slow link get a quarter of it, for there the link is what takes the time.
 */
async function warmUp(o: Options, field: Field): Promise<void> {
  for (const [processes, seconds] of [[field.processes, o.prewarm], [field.delayed, o.prewarm / 4]] as const) {
    const doors = processes.flatMap((one) => one.adminPort ? one.doors : []);
    for (const door of doors) {
      const share = seconds / STRATEGIES.length / 3;
      await work(door, {
        kind: "sessions",
        api: "mysqli",
        shape: "wordpress",
        warmup: 0,
        count: 1e9,
        seconds: door.via === "tcp" ? share * 2 : share,
      });
      if (door.via === "tcp") await work(door, { kind: "queries", query: "key", warmup: 0, seconds: share / 2 });
    }
  }
}

async function work(door: Door, job: Job): Promise<void> {
  const client = await Client.ready(door, job);
  await client.work().finally(() => client.end());
}

interface Found {
  readonly samples: Sample[];
  readonly memory: MemoryResult[];
  readonly processes: ReportProcess[];
  readonly versions: Partial<Record<ServerKind, string>>;
}

async function measureServer(o: Options, field: Field, all: readonly Work[], found: Found): Promise<void> {
  const { kind: server } = field.database;
  found.versions[server] = field.version;
  found.processes.push(
    ...[...field.processes, ...field.delayed].map(({ arm, executable, command, config }) => {
      return { server, arm, executable, command, config };
    }),
  );
  if (o.prewarm > 0) await warmUp(o, field);
  for (let round = 0; round < o.rounds; round++) {
    for (const work of all) {
      for (const door of order(doorsOf(o, field, work), round)) {
        found.samples.push(await window(o, field, door, work, round));
      }
    }
  }
}

/** Works on a database of its own. */
async function within(server: Server, o: FieldOptions, work: (field: Field) => Promise<void>): Promise<void> {
  const field = await Field.start(await server.start({ options: DATABASE_OPTIONS }), o);
  try {
    await work(field);
  } finally {
    await field.stop();
  }
}

async function run(o: Options): Promise<number> {
  const startedAt = new Date().toISOString();
  const all = works(o.sizes).filter((work) => o.experiments.includes(work.experiment));
  const found: Found = { samples: [], memory: [], processes: [], versions: {} };
  const write = () => {
    const report: Report = {
      format: 1,
      startedAt,
      machine: machine("php", o.fairlead, {
        haproxy: ["haproxy", "-v"],
        router: ["chroot", mysql9Root, "mysqlrouter", "--version"],
      }),
      rounds: o.rounds,
      delayMs: o.delayMs,
      servers: found.versions,
      databaseOptions: DATABASE_OPTIONS,
      arms: { ...DIRECT_ABOUT, ...Object.fromEntries(o.arms.map((arm) => [arm.name, arm.about])) },
      processes: found.processes,
      works: all,
      samples: found.samples,
      memory: found.memory,
    };
    writeJson(o.json, report, 1);
    return report;
  };
  const present = servers.filter((server) => {
    if (!(o.servers?.includes(server.kind) ?? true)) return false;
    if (server.absent === undefined) return true;
    if (o.servers !== undefined) throw new Error(`Cannot measure ${server.kind}: ${server.absent}`);
    say(`without ${server.kind}: ${server.absent}`);
    return false;
  });
  if (all.length > 0) {
    for (const server of present) {
      const delayMs = all.some((work) => work.experiment === "delay") ? o.delayMs : 0;
      await within(server, { ...o, delayMs, say }, (field) => measureServer(o, field, all, found));
      write();
    }
  }
  // What waits in a proxy does not depend on the database behind it.
  const [first] = present;
  if (first !== undefined && o.experiments.includes("memory")) {
    const arms = o.arms.filter((arm) => arm.name !== "router" && arm.absent(first.kind) === undefined);
    for (const arm of [undefined, ...arms]) {
      await within(first, { ...o, arms: [], delayMs: 0, say }, async (field) => {
        found.versions[first.kind] = field.version;
        found.memory.push(await weigh(field, arm, o.memory));
      });
      write();
    }
  }
  const report = write();
  process.stdout.write(`${samplesText(report)}\n${memoryText(report)}`);
  return report.samples.some((sample) => sample.faults.length > 0) ? 1 : 0;
}

benchmark(USAGE, parseOptions, run);
