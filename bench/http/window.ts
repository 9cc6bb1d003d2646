/**
 * One window: check who answers, warm up, let the queue drain, measure, and judge whether the figures can be trusted.
 *
 * @module
 */
import { availableParallelism } from "node:os";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import type { Running } from "./arms/arm.ts";
import { latencyStats, little, plausible } from "./histogram.ts";
import { checkIdentity } from "./identity.ts";
import type { Page } from "./pages.ts";
import { drained, probe, type Target } from "./probe.ts";
import { machineTicks, stat, ticks } from "./procfs.ts";
import { runWrk, type WrkErrors } from "./wrk.ts";

export interface WindowOptions {
  readonly seconds: number;
  readonly warmupSeconds: number;
  readonly children: number;
  readonly phpFpm: string;
  readonly host?: string | undefined;
  /** A probe slower than this (ms) means something is still queued. */
  readonly calmMs: number;
  /** Above this share of the machine used by strangers, a window is not trusted. */
  readonly maxForeign: number;
}

export interface WindowResult {
  readonly requests: number;
  readonly seconds: number;
  readonly throughput: number;
  readonly mean: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
  /** Mean latency over what the throughput says it must be: see `little` in `histogram.ts`. */
  readonly little: number;
  readonly errors: WrkErrors;
  readonly bytesPerResponse: number;
  readonly sha256: string;
  /** CPU microseconds a request took in the server, and in PHP. */
  readonly serverCpuUs: number;
  readonly phpCpuUs: number;
  /** The share of the machine that neither the arm, nor wrk, nor this harness used; what the hypervisor stole included. */
  readonly foreign: number;
  /** Why the window cannot be trusted; empty when it can. */
  readonly faults: readonly string[];
}

/** Linux tells CPU time in these, whatever its real clock is. */
const TICK_US = 10_000;

/** Laps (`clients / throughput`) a window must hold, so that the start-up of the queue does not weigh. */
const LAPS = 20;

export async function measure(arm: Running, page: Page, clients: number, o: WindowOptions): Promise<WindowResult> {
  const target: Target = { port: arm.port, path: page.path, host: o.host };
  const url = `http://127.0.0.1:${arm.port}${page.path}`;
  const load = (seconds: number) => runWrk({ url, connections: clients, seconds, host: o.host });

  await checkIdentity(arm, o.phpFpm, o.children);
  const warm = await load(o.warmupSeconds);
  const lap = clients * warm.seconds / Math.max(1, warm.requests);
  await drained(target, o.calmMs);
  const reference = await probe(target);
  const own = await checkIdentity(arm, o.phpFpm, o.children);

  const used = () => {
    const self = stat(process.pid);
    return {
      server: ticks(own.server),
      php: ticks(own.php),
      harness: (self?.ticks ?? 0) + (self?.childTicks ?? 0),
      machine: machineTicks(),
    };
  };
  const before = used();
  const run = await load(Math.ceil(Math.max(o.seconds, lap * LAPS)));
  const after = used();
  await checkIdentity(arm, o.phpFpm, o.children);
  await drained(target, o.calmMs);

  const stats = latencyStats(run.histogram);
  const delta = {
    server: after.server - before.server,
    php: after.php - before.php,
    harness: after.harness - before.harness,
    busy: after.machine.busy - before.machine.busy,
    total: after.machine.total - before.machine.total,
  };
  const foreign = Math.max(0, delta.busy - delta.server - delta.php - delta.harness) / Math.max(1, delta.total);
  const balance = little(stats, clients, run.seconds);
  const bytesPerResponse = run.requests === 0 ? 0 : run.bytes / run.requests;
  const faults: string[] = [];
  if (reference.status < 200 || reference.status > 299) faults.push(`status ${reference.status}`);
  const failed = Object.entries(run.errors).filter(([, n]) => n > 0);
  if (failed.length > 0) faults.push(`errors: ${failed.map(([kind, n]) => `${kind} ${n}`).join(", ")}`);
  // wrk does not tell a redirect from a page: the size does. Requests cut off at the end have sent a part, and who has
  // waited in line is told how long (Server-Timing), which the reference request was not.
  const tolerance = 48 + reference.wireBytes * (0.01 + clients / Math.max(1, run.requests));
  if (Math.abs(bytesPerResponse - reference.wireBytes) > tolerance) {
    faults.push(`${bytesPerResponse.toFixed(0)} bytes a response, expected ${reference.wireBytes}`);
  }
  if (!plausible(balance)) faults.push(`mean / (clients / throughput) is ${balance.ratio.toFixed(3)}`);
  if (foreign > o.maxForeign) {
    faults.push(`others used ${(foreign * 100).toFixed(0)} % of ${availableParallelism()} cores`);
  }
  return {
    requests: run.requests,
    seconds: run.seconds,
    throughput: run.requests / run.seconds,
    mean: stats.mean,
    p50: stats.p50,
    p90: stats.p90,
    p99: stats.p99,
    p999: stats.p999,
    max: stats.max,
    little: balance.ratio,
    errors: run.errors,
    bytesPerResponse,
    sha256: reference.sha256,
    serverCpuUs: delta.server * TICK_US / Math.max(1, run.requests),
    phpCpuUs: delta.php * TICK_US / Math.max(1, run.requests),
    foreign,
    faults,
  };
}

/** How slow an answer of an idle server may be and still say "nothing is queued". */
export async function calmLimit(target: Target): Promise<number> {
  const seen: number[] = [];
  for (let i = 0; i < 30; i++) seen.push((await probe(target)).ms);
  seen.sort((a, b) => a - b);
  return (seen[15] as number) * 2 + 1;
}

/** Waits until, for 300 ms, no more than `maxForeign` of the machine is used, but no longer than `seconds`. */
export async function quiet(maxForeign: number, seconds: number): Promise<void> {
  for (const end = performance.now() + seconds * 1000; performance.now() < end;) {
    const before = machineTicks();
    await sleep(300);
    const after = machineTicks();
    if (after.busy - before.busy <= maxForeign * (after.total - before.total)) return;
  }
}
