/**
 * One window: check who answers, warm up, let the queue drain, measure, and judge whether the figures can be trusted.
 *
 * @module
 */
import process from "node:process";
import { drained, probe, type Target } from "../support/probe.ts";
import { machineTicks, stat, ticks } from "../support/procfs.ts";
import { foreignFault, foreignShare } from "../support/trust.ts";
import { latencyStats, little, plausible } from "./histogram.ts";
import { runWrk, type WrkErrors } from "./wrk.ts";

export interface WindowOptions {
  readonly target: Target;
  readonly clients: number;
  /** Whole seconds, at least. */
  readonly seconds: number;
  /** Laps (`clients / throughput`) the window must hold; any number when absent. */
  readonly laps?: number;
  readonly warmup: number;
  /** A probe slower than this (ms) means something is still queued. */
  readonly calmMs: number;
  /** Above this share of the machine used by strangers, a window is not trusted. */
  readonly maxForeign: number;
  /** How far the mean size of the answers may be from that of one that nobody waited for. */
  readonly slack: { readonly bytes: number; readonly share: number };
  /** Throws unless the right server listens; tells its processes. */
  check(): Promise<{ readonly server: readonly number[]; readonly php: readonly number[] }>;
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

/** Ticks of processes and of the children they have seen end: forks live for one request. */
function lived(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + (stat(pid)?.childTicks ?? 0), ticks(pids));
}

export async function measure(o: WindowOptions): Promise<WindowResult> {
  const { target, clients } = o;
  const url = `http://127.0.0.1:${target.port}${target.path}`;
  const load = (seconds: number) => runWrk({ url, connections: clients, seconds, host: target.host });

  await o.check();
  const warm = await load(o.warmup);
  const lap = clients * warm.seconds / Math.max(1, warm.requests);
  await drained(target, o.calmMs);
  const reference = await probe(target);
  const own = await o.check();

  const used = () => ({
    server: ticks(own.server),
    php: lived(own.php),
    harness: lived([process.pid]),
    ...machineTicks(),
  });
  const before = used();
  const run = await load(Math.ceil(Math.max(o.seconds, lap * (o.laps ?? 0))));
  const after = used();
  await o.check();
  await drained(target, o.calmMs);

  const server = after.server - before.server;
  const php = after.php - before.php;
  // Where PHP processes were replaced meanwhile, what they used counts as that of others.
  const foreign = foreignShare(before, after, server + php + after.harness - before.harness);
  const stats = latencyStats(run.histogram);
  const { mean, p50, p90, p99, p999, max } = stats;
  const balance = little(stats, clients, run.seconds);
  const bytesPerResponse = run.requests === 0 ? 0 : run.bytes / run.requests;
  const faults: string[] = [];
  if (reference.status < 200 || reference.status > 299) faults.push(`status ${reference.status}`);
  const failed = Object.entries(run.errors).filter(([, n]) => n > 0);
  if (failed.length > 0) faults.push(`errors: ${failed.map(([kind, n]) => `${kind} ${n}`).join(", ")}`);
  // wrk does not tell a redirect from a page: the size does.
  const tolerance = o.slack.bytes + reference.wireBytes * (o.slack.share + clients / Math.max(1, run.requests));
  if (Math.abs(bytesPerResponse - reference.wireBytes) > tolerance) {
    faults.push(`${bytesPerResponse.toFixed(0)} bytes a response, expected ${reference.wireBytes}`);
  }
  if (!plausible(balance)) faults.push(`mean / (clients / throughput) is ${balance.ratio.toFixed(3)}`);
  if (foreign > o.maxForeign) faults.push(foreignFault(foreign));
  const each = (spent: number) => spent * TICK_US / Math.max(1, run.requests);
  return {
    requests: run.requests,
    seconds: run.seconds,
    throughput: run.requests / run.seconds,
    ...{ mean, p50, p90, p99, p999, max },
    little: balance.ratio,
    errors: run.errors,
    bytesPerResponse,
    sha256: reference.sha256,
    serverCpuUs: each(server),
    phpCpuUs: each(php),
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
