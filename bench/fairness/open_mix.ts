/**
 * Open arrivals of two pages: 95 of 100 requests take 5 ms and 5 take 500 ms, at rates below and above what the PHP
 * processes can do. Most of their time goes to the slow page, most of the clients want the fast one.
 *
 * @module
 */
import { readFileSync, writeFileSync } from "node:fs";
import type { Running } from "../http/arms/arm.ts";
import { send } from "../support/arrivals.ts";
import { checkIdentity } from "../http/identity.ts";
import { drained } from "../support/probe.ts";
import { machineClock } from "./clock.ts";
import { capacity, mix, openFigures, type OpenSample, type Unloaded, wasted } from "./open_figures.ts";
import { FAST, SLOW } from "./pages.ts";
import { rank, sorted } from "../support/statistics.ts";

/** One request at a time, each once the last is answered. */
export async function unloaded(port: number, requests = 300): Promise<Unloaded> {
  const times = async (path: string, count: number, gap: number) => {
    const arrivals = Array.from({ length: count }, (_, i) => ({ at: i * gap, path: `${path}?i=-1` }));
    const { outcomes } = await send(port, arrivals, 10_000);
    const bad = outcomes.find(({ status }) => status !== 200);
    if (bad !== undefined) throw new Error(`${path} answered ${bad.status} to a single client`);
    return sorted(outcomes.map(({ took }) => took));
  };
  await times(FAST, Math.ceil(requests / 3), 20);
  const fast = await times(FAST, requests, 20), slow = await times(SLOW, 3, 600);
  return { fast: rank(fast, 0.5), slow: rank(slow, 0.5), fastP99: rank(fast, 0.99) };
}

export interface OpenOptions {
  readonly phpFpm: string;
  readonly slots: number;
  readonly seconds: number;
  readonly deadline: number;
  /** Where the pages write who was executed. */
  readonly log: string;
}

export async function openMix(
  arm: string,
  running: Running,
  share: number,
  round: number,
  alone: Unloaded,
  o: OpenOptions,
): Promise<OpenSample> {
  await drained({ port: running.port, path: `${FAST}?i=-1` }, alone.fastP99 * 2 + 5);
  await checkIdentity(running, o.phpFpm, o.slots);
  const { now } = await machineClock(running.port);
  writeFileSync(o.log, "");
  const rate = capacity(alone, o.slots) * share;
  const arrivals = mix(rate, o.seconds, 1 + round);
  const { outcomes, late, start } = await send(running.port, arrivals, o.deadline);
  await drained({ port: running.port, path: `${FAST}?i=-1` }, alone.fastP99 * 2 + 5);
  await checkIdentity(running, o.phpFpm, o.slots);
  return {
    arm,
    round,
    share,
    rate,
    ...openFigures(arrivals, outcomes, alone, o),
    unloadedFastP99: alone.fastP99,
    wasted: wasted(readFileSync(o.log, "utf8"), start + now() - performance.now(), arrivals, outcomes),
    lateP99: rank(sorted(late), 0.99),
  };
}
