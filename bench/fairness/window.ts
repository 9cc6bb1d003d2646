/**
 * One closed-loop window: who answers is checked before and after it, and with every single answer.
 *
 * @module
 */
import process from "node:process";
import type { Running } from "../http/arms/arm.ts";
import { checkIdentity } from "../http/identity.ts";
import { machineTicks, stat, ticks } from "../support/procfs.ts";
import { foreignFault, foreignShare } from "../support/trust.ts";
import { closedLoop } from "./closed_loop.ts";
import { type Evidence, failure, fairnessGates, type Gate, harnessGates } from "./gates.ts";
import { type Figures, figures } from "./figures.ts";
import type { Page } from "./pages.ts";
import { machineClock } from "./clock.ts";
import { counters } from "./counters.ts";

export interface WindowOptions {
  readonly clients: number;
  /** PHP processes. */
  readonly slots: number;
  readonly phpFpm: string;
  readonly seconds: number;
  readonly laps: number;
  readonly answers: number;
  readonly warmup: number;
  readonly maxForeign: number;
}

export interface Sample extends Figures {
  readonly arm: string;
  readonly page: string;
  readonly round: number;
  /** As the server counted them; unknown of servers that do not count. */
  readonly overtakes?: number;
  /** Ms that waits may be wrong by: how well the clocks of clients and pages were brought together. */
  readonly clockWithin: number;
  /** What the load generator used of one core. */
  readonly generator: number;
  /** The share of the machine that neither the arm nor the harness used. */
  readonly foreign: number;
  readonly gates: readonly Gate[];
  /** Why the figures count for nothing; empty when they count. */
  readonly faults: readonly string[];
}

export async function measure(
  arm: string,
  running: Running,
  page: Page,
  round: number,
  o: WindowOptions,
): Promise<Sample> {
  const own = await checkIdentity(running, o.phpFpm, o.slots);
  const { now, within } = await machineClock(running.port);
  const used = () => ({
    arm: ticks([...own.server, ...own.php]),
    self: stat(process.pid)?.ticks ?? 0,
    ...machineTicks(),
  });
  const [countedBefore, before] = [await counters(running), used()];
  const run = await closedLoop({
    port: running.port,
    path: page.path,
    clients: o.clients,
    warm: 3 * o.clients,
    warmMs: o.warmup * 1000,
    answers: Math.max(o.answers, o.laps * o.clients),
    windowMs: o.seconds * 1000,
    now,
  });
  const [after, countedAfter] = [used(), await counters(running)];
  await checkIdentity(running, o.phpFpm, o.slots);

  const strangers = run.answers.filter(({ pid }) => !own.phpChildren.includes(pid)).length;
  const evidence: Evidence = {
    wrong: run.wrong.length,
    sent: run.answers.length + run.wrong.length,
    strangers,
    ...(countedBefore !== undefined && countedAfter !== undefined
      ? { admitted: countedAfter.admitted - countedBefore.admitted }
      : {}),
  };
  const overtakes = countedBefore !== undefined && countedAfter !== undefined
    ? countedAfter.overtakes - countedBefore.overtakes
    : undefined;
  const found = figures(run, o.clients, o.slots);
  const foreign = foreignShare(before, after, after.arm - before.arm + after.self - before.self);
  const faults = harnessGates(found, evidence).filter((one) => !one.holds).map(failure);
  if (foreign > o.maxForeign) faults.push(foreignFault(foreign));
  return {
    arm,
    page: page.name,
    round,
    ...found,
    ...(overtakes === undefined ? {} : { overtakes }),
    clockWithin: within,
    generator: run.cpu,
    foreign,
    gates: fairnessGates(found, page, overtakes),
    faults,
  };
}
