/**
 * From the answers of a closed loop to the figures of its window.
 *
 * @module
 */
import type { Answer, ClosedLoop } from "./closed_loop.ts";
import { bootstrapIdeal, normalIdeal } from "./ideal.ts";
import { diagnose, type LapDiagnosis, passedOver } from "./laps.ts";
import { jain, mean, type Quantiles, quantiles, sorted, variation } from "../support/statistics.ts";

export interface Figures {
  /** Answers in the window, and a second of it. */
  readonly answers: number;
  readonly throughput: number;
  /** Ms of N / X: the mean sojourn, for every discipline (Little). */
  readonly little: number;
  /** Mean sojourn of the answers over N / X. */
  readonly mean: number;
  /** The share of the clients' time that lies between a sending and its answer, those cut off by the window included. */
  readonly accounted: number;
  /** Ms that a slot was taken for a request: from its start to the next start of the same PHP process. */
  readonly service: number;
  /** C of that. */
  readonly variation: number;
  /** The share of it that the page says it worked. */
  readonly busy: number;
  readonly measured: Quantiles;
  /** Of a first-come-first-served queue run on the services of this window. */
  readonly ideal: Quantiles;
  /** The same by the normal formula, for comparison. */
  readonly formula: Quantiles;
  readonly laps: LapDiagnosis;
  /** Share of requests that one which was sent over two services later passed, by the clocks of clients and pages. */
  readonly passed: number;
  readonly jain: number;
  /** Ms that the oldest unanswered request had waited when the window closed. */
  readonly oldest: number;
  /** A thousand quantiles of waits in laps: measured, and of the ideal queue. */
  readonly waits: readonly number[];
  readonly idealWaits: readonly number[];
}

/** Quantiles enough to draw a tail from: the last is P99.95. */
const DRAWN = 1000;

/** @throws Error when the window holds too little to say anything */
export function figures(run: ClosedLoop, clients: number, slots: number): Figures {
  const { opened, closed } = run;
  const seconds = (closed - opened) / 1000;
  // The answer that opened the window belongs to what was before it.
  const inside = run.answers.filter(({ answered }) => answered > opened && answered <= closed);
  if (inside.length < clients) {
    throw new Error(`The window holds ${inside.length} answers of ${clients} clients: too few`);
  }
  const throughput = inside.length / seconds;
  const little = clients / throughput * 1000;
  const sojourns = sorted(inside.map(({ sent, answered }) => answered - sent));
  const services = cycles(run.answers, opened, closed);
  const service = mean(services);
  const load = { clients, slots, throughput: throughput / 1000 };
  const lap = (clients - slots) / load.throughput;
  const ideal = bootstrapIdeal(services, load);
  const waits = sorted(inside.map(({ sent, started }) => started - sent));
  const spread = variation(services);
  const counts = new Array<number>(clients).fill(0);
  for (const { client } of inside) counts[client]!++;
  const cut = run.answers.filter(({ sent, answered }) => sent <= closed && answered > closed);
  return {
    answers: inside.length,
    throughput,
    little,
    mean: mean(sojourns) / little,
    accounted: accounted(run.answers, opened, closed) / (clients * (closed - opened)),
    service,
    variation: spread,
    busy: mean(inside.map(({ started, ended }) => ended - started)) / service,
    measured: quantiles(sojourns),
    ideal: ideal.quantiles,
    formula: normalIdeal(load, spread),
    laps: diagnose(waits, lap, service),
    passed: passedOver(inside, 2 * service),
    jain: jain(counts),
    oldest: Math.max(0, ...cut.map(({ sent }) => closed - sent)),
    waits: drawn(waits, lap),
    idealWaits: drawn(ideal.waits, lap),
  };
}

function drawn(ascending: ArrayLike<number>, lap: number): number[] {
  const at = (i: number) => ascending[Math.floor((i + 0.5) / DRAWN * ascending.length)]! / lap;
  return Array.from({ length: DRAWN }, (_, i) => Math.round(at(i) * 10_000) / 10_000);
}

/** Ms between a sending and its answer that lie in the window, of all clients together. */
function accounted(answers: readonly Answer[], opened: number, closed: number): number {
  let sum = 0;
  for (const { sent, answered } of answers) sum += Math.max(0, Math.min(answered, closed) - Math.max(sent, opened));
  return sum;
}

/**
 * How long each PHP process was taken for a request: while clients queue, until its next one starts. What the server needs
 * to hand over is in it, and so is what PHP does before and after the script: all of it keeps others waiting.
 */
export function cycles(answers: readonly Answer[], opened: number, closed: number): number[] {
  const last = new Map<number, number>();
  const out: number[] = [];
  for (const { pid, started } of [...answers].sort((a, b) => a.started - b.started)) {
    const before = last.get(pid);
    if (before !== undefined && before > opened && started <= closed) out.push(started - before);
    last.set(pid, started);
  }
  return out;
}
