/**
 * One window: check who answers, let the clients warm up, measure, and judge whether the figures can be trusted.
 *
 * @module
 */
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { machineTicks, stat } from "../support/procfs.ts";
import { foreignFault, foreignShare } from "../support/trust.ts";
import type { Door } from "./arms/arm.ts";
import { Client, type Job } from "./client.ts";
import { between, type Counters, type Watch } from "./counters.ts";
import { cpuBetween, cpuTimes } from "./cpu.ts";
import { checkAnswer, checkHolder, ownPids } from "./identity.ts";
import { type Times, times } from "./statistics.ts";

export interface WindowOptions {
  readonly clients: number;
  /** What the right database answers to `WHO`. */
  readonly who: string;
  readonly databasePid: number;
  readonly watch: Watch;
  /** Processes that belong to the way, such as a relay. */
  readonly others: readonly number[];
  /** Above this share of the machine used by strangers, a window is not trusted. */
  readonly maxForeign: number;
}

export interface WindowResult extends Times {
  readonly clients: number;
  /** Of all clients together. */
  readonly perSecond: number;
  /** CPU microseconds for each piece of work: of the proxy (0 when there is none), the database, and PHP. */
  readonly proxyCpuUs: number;
  readonly databaseCpuUs: number;
  readonly clientCpuUs: number;
  /** What the database counted, from before the first piece of work until all was tidied up. */
  readonly counters: Counters;
  /** The share of the machine that nobody known used; what the hypervisor stole included. */
  readonly foreign: number;
  /** Why the window cannot be trusted; empty when it can. */
  readonly faults: readonly string[];
}

const TICK_NS = 1e7;
/** Ticks by which the machine's account may be off: a short window has not many more than fifty. */
const ROUNDING = 3;

/** So long (ms) a proxy has to tidy up after the last client, before the counters are read. */
const SETTLE = 100;

export async function measure(door: Door, job: Job, o: WindowOptions): Promise<WindowResult> {
  await checkHolder(door);
  await checkAnswer(door, o.who);
  const clients: Client[] = [];
  try {
    for (const client of await Promise.all(Array.from({ length: o.clients }, () => Client.ready(door, job)))) {
      clients.push(client);
    }
    await sleep(SETTLE);
    const proxyPids = door.arm === "direct" ? [] : ownPids(door.process);
    const used = () => ({
      proxy: cpuTimes(proxyPids),
      database: cpuTimes([o.databasePid]),
      client: cpuTimes(clients.map((client) => client.pid)),
      others: cpuTimes(o.others),
      harness: (stat(process.pid)?.ticks ?? 0) * TICK_NS,
      machine: machineTicks(),
    });
    const counted = await o.watch.read();
    const before = used();
    const start = performance.now();
    const results = await Promise.all(clients.map((client) => client.work()));
    const seconds = (performance.now() - start) / 1000;
    await sleep(SETTLE);
    const after = used();
    const counters = between(counted, await o.watch.read());
    await checkHolder(door);

    const ns = results.flatMap((result) => result.times);
    const errors = results.reduce((sum, result) => sum + result.errors, 0);
    const proxyNs = cpuBetween(before.proxy, after.proxy);
    const databaseNs = cpuBetween(before.database, after.database);
    const clientNs = cpuBetween(before.client, after.client);
    const known = proxyNs + databaseNs + clientNs + cpuBetween(before.others, after.others) + after.harness -
      before.harness;
    const foreign = foreignShare(before.machine, after.machine, known / TICK_NS);
    const faults: string[] = [];
    if (errors > 0) faults.push(`${errors} wrong answers`);
    if (foreign - ROUNDING / Math.max(1, after.machine.total - before.machine.total) > o.maxForeign) {
      faults.push(foreignFault(foreign));
    }
    const each = (cpuNs: number) => cpuNs / 1000 / Math.max(1, ns.length);
    return {
      ...times(ns),
      clients: o.clients,
      perSecond: ns.length / seconds,
      proxyCpuUs: each(proxyNs),
      databaseCpuUs: each(databaseNs),
      clientCpuUs: each(clientNs),
      counters,
      foreign,
      faults,
    };
  } finally {
    for (const client of clients) client.end();
  }
}
