/**
 * What sessions that only wait cost, and whether a large result passes in flat memory.
 *
 * @module
 */
import { readFileSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { RawClient } from "../../tests/support/raw_client.ts";
import { memory } from "../support/procfs.ts";
import type { ArmProcess, Door, ProxyArm } from "./arms/arm.ts";
import { BACKENDS } from "./arms/fairlead.ts";
import { Client, type Job } from "./client.ts";
import { cpuBetween, cpuTimes } from "./cpu.ts";
import type { Field } from "./field.ts";
import { checkAnswer, checkHolder, ownPids } from "./identity.ts";

/** Resident bytes of the proxy, and of the database. */
export interface Resident {
  readonly proxy: number;
  readonly database: number;
}

export interface Passage {
  readonly bytes: number;
  readonly seconds: number;
  /** The proxy's most resident memory meanwhile, beyond what it had before. */
  readonly growth: number;
  /** CPU time of the proxy (ms). */
  readonly proxyCpuMs: number;
}

export interface MemoryResult {
  readonly server: "mariadb" | "mysql";
  readonly door: string;
  /** Idle sessions that were opened. */
  readonly idle: number;
  readonly started: Resident;
  /** After some thousand sessions. */
  readonly worked: Resident;
  readonly withIdle: Resident;
  /** The database's connections then. */
  readonly connections: number;
  readonly left: Resident;
  readonly bulk: Passage;
  readonly slow: Passage;
}

export interface MemorySizes {
  readonly idle: number;
  readonly bulkMiB: number;
  readonly slowMiB: number;
  readonly sessions: number;
}

/** Connections of the harness: the one that watches, and the one that asks. */
const WATCHERS = 2;

/** The proxy itself, without what it may have started. */
function pidsOf(process: ArmProcess): number[] {
  return process.arm === "direct" ? [] : ownPids(process);
}

/** Memory once it has stopped moving: two readings, half a second apart, within 1 %. */
async function settled(field: Field, process: ArmProcess): Promise<Resident> {
  const look = () => ({ proxy: memory(pidsOf(process)).rss, database: memory([field.database.pid]).rss });
  let last = look();
  for (let i = 0; i < 20; i++) {
    await sleep(500);
    const now = look();
    const calm = (key: keyof Resident) => Math.abs(now[key] - last[key]) <= now[key] / 100;
    if (calm("proxy") && calm("database")) return now;
    last = now;
  }
  return last;
}

/** The highest that the kernel saw since it was told to forget. */
function peak(pids: readonly number[]): { forget(): void; read(): number } {
  return {
    forget: () => pids.forEach((pid) => writeFileSync(`/proc/${pid}/clear_refs`, "5")),
    read: () =>
      pids.reduce((sum, pid) => {
        const line = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
        return sum + Number(line?.[1] ?? 0) * 1024;
      }, 0),
  };
}

/** Sessions that have set their character set and then do nothing; as many as there are backends hold one. */
async function idlers(door: Door, count: number): Promise<RawClient[]> {
  const clients: RawClient[] = [];
  const options = { viaSocket: door.via === "socket", database: "test" };
  // A proxy may learn what the SET does in a session such as these.
  for (let i = 0; i < 3; i++) {
    await using client = await RawClient.login(door.place, options);
    await client.run("SET NAMES utf8mb4");
    await client.quit();
  }
  for (let opened = 0; opened < count; opened += 50) {
    const batch = Array.from({ length: Math.min(50, count - opened) }, async (_, i) => {
      const client = await RawClient.login(door.place, options);
      await client.run("SET NAMES utf8mb4");
      if (opened + i < BACKENDS) await client.rows("SELECT value FROM items WHERE id = 1");
      return client;
    });
    clients.push(...await Promise.all(batch));
  }
  return clients;
}

async function work(door: Door, job: Job): Promise<readonly number[]> {
  const client = await Client.ready(door, job);
  try {
    const { errors, times } = await client.work();
    if (errors > 0) throw new Error(`${errors} wrong answers at ${door.name}`);
    return times;
  } finally {
    client.end();
  }
}

async function passage(door: Door, mib: number, pauseUs: number): Promise<Passage> {
  const pids = pidsOf(door.process);
  const high = peak(pids);
  const [resident, cpu] = [memory(pids).rss, cpuTimes(pids)];
  high.forget();
  const [ns = NaN] = await work(door, { kind: "bulk", rows: mib, pauseUs, warmup: 0, count: 1 });
  return {
    bytes: mib * 2 ** 20,
    seconds: ns / 1e9,
    growth: Math.max(0, high.read() - resident),
    proxyCpuMs: cpuBetween(cpu, cpuTimes(pids)) / 1e6,
  };
}

/**
 * Weighs one arm, in a process of its own that has done nothing else; `undefined` is no proxy at all. The database must be
 * fresh too: it keeps the memory of connections that are gone.
 */
export async function weigh(field: Field, arm: ProxyArm | undefined, o: MemorySizes): Promise<MemoryResult> {
  const process = arm === undefined ? field.processes[0]! : await field.fresh(arm);
  const connected = async () =>
    Number((await field.database.admin("SHOW STATUS LIKE 'Threads_connected'"))[0]?.[1]) - WATCHERS;
  try {
    const door = process.doors[0]!;
    await checkHolder(door);
    await checkAnswer(door, field.who);
    const started = await settled(field, process);
    await work(door, { kind: "sessions", api: "mysqli", shape: "wordpress", warmup: 0, count: o.sessions });
    const worked = await settled(field, process);
    const clients = await idlers(door, o.idle);
    const withIdle = await settled(field, process);
    const connections = await connected();
    for (const client of clients) client.destroy();
    await sleep(2_000);
    const left = await settled(field, process);
    const bulk = await passage(door, o.bulkMiB, 0);
    const slow = await passage(door, o.slowMiB, 20_000);
    const { kind: server } = field.database;
    return { server, door: door.name, idle: o.idle, started, worked, withIdle, connections, left, bulk, slow };
  } finally {
    if (arm !== undefined) await process.stop();
  }
}
