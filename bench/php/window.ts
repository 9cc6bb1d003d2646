/**
 * One closed-loop window on a server whose PHP may be workers of any kind.
 *
 * @module
 */
import { basename } from "node:path";
import process from "node:process";
import type { Running } from "../http/arms/arm.ts";
import { latencyStats, little, plausible } from "../http/histogram.ts";
import { drained, probe } from "../http/probe.ts";
import { executable, listeners, machineTicks, stat, ticks, tree } from "../http/procfs.ts";
import type { WindowResult } from "../http/window.ts";
import { runWrk } from "../http/wrk.ts";

interface Family {
  readonly server: readonly number[];
  readonly php: readonly number[];
}

const isPhp = (pid: number) => basename(executable(pid) ?? "").startsWith("php");

/** Splits the processes of an arm; throws unless the port is its own, and nobody else's. */
export async function checkIdentity(arm: Running): Promise<Family> {
  const all = arm.roots.flatMap(tree);
  const php = all.filter(isPhp);
  const server = all.filter((pid) => !isPhp(pid));
  const owners = listeners(arm.port);
  if (owners.length === 0 || !owners.every((pid) => server.includes(pid) && executable(pid) === arm.executable)) {
    throw new Error(`Port ${arm.port} is held by ${owners.join(", ") || "nobody"}, expected ${arm.pid} only`);
  }
  if (arm.adminPort !== undefined) {
    const who = await (await fetch(`http://127.0.0.1:${arm.adminPort}/-/whoami`)).json() as { pid?: unknown };
    if (who.pid !== arm.pid) throw new Error(`/-/whoami says pid ${who.pid}, expected ${arm.pid}`);
  }
  return { server, php };
}

/** Ticks of processes and of the children they have seen end: forks live for one request. */
const lived = (pids: readonly number[]) => pids.reduce((sum, pid) => sum + (stat(pid)?.childTicks ?? 0), ticks(pids));

export interface WindowOptions {
  readonly path: string;
  readonly clients: number;
  readonly seconds: number;
  readonly warmup: number;
  readonly calmMs: number;
  readonly maxForeign: number;
}

export async function measure(arm: Running, o: WindowOptions): Promise<WindowResult> {
  const target = { port: arm.port, path: o.path };
  const url = `http://127.0.0.1:${arm.port}${o.path}`;
  await runWrk({ url, connections: o.clients, seconds: o.warmup });
  await drained(target, o.calmMs);
  const reference = await probe(target);
  const own = await checkIdentity(arm);
  const used = () => {
    const self = stat(process.pid);
    return {
      server: ticks(own.server),
      php: lived(own.php),
      harness: (self?.ticks ?? 0) + (self?.childTicks ?? 0),
      machine: machineTicks(),
    };
  };
  const before = used();
  const run = await runWrk({ url, connections: o.clients, seconds: o.seconds });
  const after = used();
  await checkIdentity(arm);
  await drained(target, o.calmMs);

  const stats = latencyStats(run.histogram);
  const spent = {
    server: after.server - before.server,
    php: after.php - before.php,
    harness: after.harness - before.harness,
    busy: after.machine.busy - before.machine.busy,
    total: after.machine.total - before.machine.total,
  };
  // Workers may have been replaced meanwhile: then PHP's share is not known, and neither is that of others.
  const foreign = Math.max(0, spent.busy - spent.server - spent.php - spent.harness) / Math.max(1, spent.total);
  const balance = little(stats, o.clients, run.seconds);
  const bytesPerResponse = run.requests === 0 ? 0 : run.bytes / run.requests;
  const faults: string[] = [];
  if (reference.status < 200 || reference.status > 299) faults.push(`status ${reference.status}`);
  const failed = Object.entries(run.errors).filter(([, n]) => n > 0);
  if (failed.length > 0) faults.push(`errors: ${failed.map(([kind, n]) => `${kind} ${n}`).join(", ")}`);
  const tolerance = 64 + reference.wireBytes * (0.02 + o.clients / Math.max(1, run.requests));
  if (Math.abs(bytesPerResponse - reference.wireBytes) > tolerance) {
    faults.push(`${bytesPerResponse.toFixed(0)} bytes a response, expected ${reference.wireBytes}`);
  }
  if (!plausible(balance)) faults.push(`mean / (clients / throughput) is ${balance.ratio.toFixed(3)}`);
  if (foreign > o.maxForeign) faults.push(`others used ${(foreign * 100).toFixed(0)} % of the machine`);
  const us = (t: number) => t * 10_000 / Math.max(1, run.requests);
  const { mean, p50, p90, p99, p999, max } = stats;
  return {
    requests: run.requests,
    seconds: run.seconds,
    throughput: run.requests / run.seconds,
    ...{ mean, p50, p90, p99, p999, max },
    little: balance.ratio,
    errors: run.errors,
    bytesPerResponse,
    sha256: reference.sha256,
    serverCpuUs: us(spent.server),
    phpCpuUs: us(spent.php),
    foreign,
    faults,
  };
}
