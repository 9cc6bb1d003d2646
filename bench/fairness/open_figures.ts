/**
 * What open arrivals came to.
 *
 * @module
 */
import { seeded } from "../../tests/support/seeded.ts";
import { type Arrival, arrivalTimes, type Outcome } from "../support/arrivals.ts";
import { type Gate, gate } from "./gates.ts";
import { FAST, SLOW } from "./pages.ts";
import { rank, sorted } from "../support/statistics.ts";

const FAST_SHARE = 0.95;

/** What the pages take when nobody waits, ms. */
export interface Unloaded {
  readonly fast: number;
  readonly slow: number;
  /** P99 of the fast page. */
  readonly fastP99: number;
}

export interface OpenSample {
  readonly arm: string;
  readonly round: number;
  /** Of the capacity: PHP processes / mean service. */
  readonly share: number;
  readonly rate: number;
  readonly sent: number;
  /** 2xx within the deadline. */
  readonly good: number;
  /** 503 and 429. */
  readonly refused: number;
  /** Left at the deadline, unanswered. */
  readonly left: number;
  readonly failed: number;
  /** Good answers a second, of those that came before the arrivals ended. */
  readonly goodput: number;
  /** The share of the PHP processes' time that good answers took: goodput at its worth. */
  readonly useful: number;
  /** Ms, of those that came after the onset: the first to come too many wait in vain before anybody can know. */
  readonly refusalP99: number;
  /** The share of all refusals that took at most {@linkcode QUICK_MS}. */
  readonly quick: number;
  /** Ms. */
  readonly fastP99: number;
  readonly slowP99: number;
  readonly unloadedFastP99: number;
  readonly fastGood: number;
  readonly slowGood: number;
  /** Requests that PHP began although their client had left. */
  readonly wasted: number;
  /** Ms the generator was late at the 99th percentile. */
  readonly lateP99: number;
}

/** The same requests for every arm and share of a round but for their pace. */
export function mix(rate: number, seconds: number, seed: number): Arrival[] {
  const draw = seeded(seed + 1000);
  return arrivalTimes(rate, seconds, seed)
    .map((at, i) => ({ at, path: `${draw() < FAST_SHARE ? FAST : SLOW}?i=${i}` }));
}

/** Requests a second that `slots` processes can answer. */
export function capacity({ fast, slow }: Pick<Unloaded, "fast" | "slow">, slots: number): number {
  return slots * 1000 / (FAST_SHARE * fast + (1 - FAST_SHARE) * slow);
}

/** The part of a window that is the onset of its load. */
const ONSET = 0.1;
/** A refusal within so many ms was told at once. */
const QUICK_MS = 10;

type Counts = Omit<OpenSample, "arm" | "round" | "share" | "rate" | "unloadedFastP99" | "wasted" | "lateP99">;

export function openFigures(
  arrivals: readonly Arrival[],
  outcomes: readonly Outcome[],
  alone: Pick<Unloaded, "fast" | "slow">,
  { slots, seconds }: { readonly slots: number; readonly seconds: number },
): Counts {
  const isFast = (i: number) => arrivals[i]!.path.startsWith(FAST);
  const fast: number[] = [], slow: number[] = [], refusals: number[] = [], settled: number[] = [];
  let left = 0, failed = 0, inTime = 0, work = 0;
  outcomes.forEach(({ status, took }, i) => {
    if (status >= 200 && status < 300) {
      (isFast(i) ? fast : slow).push(took);
      // What is answered after the last arrival found a queue that no longer grew.
      if (arrivals[i]!.at + took > seconds * 1000) return;
      inTime++;
      work += isFast(i) ? alone.fast : alone.slow;
    } else if (status === 503 || status === 429) {
      refusals.push(took);
      if (arrivals[i]!.at >= seconds * 1000 * ONSET) settled.push(took);
    } else if (status === 0) left++;
    else failed++;
  });
  return {
    sent: arrivals.length,
    good: fast.length + slow.length,
    refused: refusals.length,
    left,
    failed,
    goodput: inTime / seconds,
    useful: work / (slots * seconds * 1000),
    refusalP99: rank(sorted(settled), 0.99),
    quick: refusals.filter((took) => took <= QUICK_MS).length / refusals.length,
    fastP99: rank(sorted(fast), 0.99),
    slowP99: rank(sorted(slow), 0.99),
    fastGood: fast.length,
    slowGood: slow.length,
  };
}

/** Clients learn that they are served, and servers that clients left, a little late: no waste within this (ms). */
const MARGIN_MS = 20;

/** How many lines `ID START` of the log are later than the leaving of that client. @param begun clock at arrival 0 */
export function wasted(
  log: string,
  begun: number,
  arrivals: readonly Arrival[],
  outcomes: readonly Outcome[],
): number {
  return log.split("\n").filter((line) => {
    const [id, started] = line.split(" ").map(Number);
    const arrival = arrivals[id ?? -1], outcome = outcomes[id ?? -1];
    if (line === "" || arrival === undefined || outcome === undefined || outcome.status !== 0) return false;
    return started! > begun + arrival.at + outcome.took + MARGIN_MS;
  }).length;
}

/** @param classes the fast page has a class or key of its own */
export function openGates(sample: OpenSample, classes: boolean): Gate[] {
  const at = `at ${sample.share} of the capacity`;
  return [
    gate(`broken answers ${at}`, sample.failed, { least: 0, most: 0 }),
    gate(`executions for clients that left ${at}`, sample.wasted, { least: 0, most: 0 }),
    ...(sample.share < 2 ? [] : [
      // Where the slow page has a cap, slots are kept free for the fast one on purpose: then answers count, not PHP's time.
      classes
        ? gate(`good answers / capacity ${at}`, sample.goodput * sample.share / sample.rate, { least: 0.95 })
        : gate(`useful share of PHP's time ${at}`, sample.useful, { least: 0.95 }),
    ]),
    ...(sample.refused > 0 ? [gate(`P99 of refusals (ms) ${at}`, sample.refusalP99, { most: 10 })] : []),
    ...(classes
      ? [gate(`P99 of the fast page / unloaded ${at}`, sample.fastP99 / sample.unloadedFastP99, { most: 2 })]
      : []),
  ];
}
