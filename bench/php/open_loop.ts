/**
 * One window of open arrivals, compared with a perfect queue that got the very same.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { arrivalTimes, send } from "../support/arrivals.ts";
import { parseResponse } from "../support/probe.ts";
import { rank, sorted } from "../support/statistics.ts";
import { perfectQueue } from "./perfect_queue.ts";

export interface OpenLoopOptions {
  readonly port: number;
  readonly path: string;
  /** Arrivals a second. */
  readonly rate: number;
  readonly seconds: number;
  /** Ms after which a client leaves; answers after it are worth nothing. */
  readonly deadline: number;
  readonly workers: number;
  /** Answers a second that the server can give, for the perfect queue. */
  readonly capacity: number;
  /** Ms that the server lets a request wait. */
  readonly grace: number;
  readonly seed: number;
}

export interface OpenLoopResult {
  readonly rate: number;
  readonly arrivals: number;
  /** 2xx within the deadline. */
  readonly good: number;
  /** Good answers a second. */
  readonly goodput: number;
  /** Answered with 503, at once or after a wait. */
  readonly refused: number;
  /** Left unanswered at the deadline. */
  readonly left: number;
  /** Anything else. */
  readonly failed: number;
  /** Ms, of the good ones, from the moment the request was due. */
  readonly p50: number;
  readonly p99: number;
  /** p99 of a perfect queue that got the same arrivals. */
  readonly idealP99: number;
  /** Ms the generator was late at the 99th percentile: more than a few, and the figures are its own. */
  readonly lateP99: number;
}

/**
 * What the server can do while this generator, which takes CPU of its own, runs beside it: answers a second to `clients` that ask
 * again as soon as they are answered.
 */
export async function capacityOf(
  o: { readonly port: number; readonly path: string; readonly clients: number; readonly seconds: number },
): Promise<number> {
  const request = `GET ${o.path} HTTP/1.1\r\nHost: 127.0.0.1:${o.port}\r\n\r\n`;
  let count = 0, wrong = 0;
  const sockets = Array.from({ length: o.clients }, () => {
    const socket = connect({ port: o.port, host: "127.0.0.1", noDelay: true });
    let data: Buffer | undefined;
    socket.on("error", () => wrong++);
    socket.on("data", (chunk: Buffer) => {
      data = data === undefined ? chunk : Buffer.concat([data, chunk]);
      const response = parseResponse(data, false);
      if (response === undefined) return;
      data = undefined;
      if (response.status >= 200 && response.status < 300) count++;
      else wrong++;
      socket.write(request);
    });
    socket.write(request);
    return socket;
  });
  await sleep(500);
  const [from, start] = [count, performance.now()];
  await sleep(o.seconds * 1000);
  const rate = (count - from) / (performance.now() - start) * 1000;
  for (const socket of sockets) socket.destroy();
  if (wrong > 0) throw new Error(`${o.path}: ${wrong} of ${count + wrong} answers were none, or no 2xx`);
  return rate;
}

export async function openLoop(o: OpenLoopOptions): Promise<OpenLoopResult> {
  const times = arrivalTimes(o.rate, o.seconds, o.seed);
  const { outcomes, late } = await send(o.port, times.map((at) => ({ at, path: o.path })), o.deadline);
  const sojourns = sorted(outcomes.filter(({ status }) => status >= 200 && status < 300).map(({ took }) => took));
  const count = (status: number) => outcomes.filter((one) => one.status === status).length;
  const [refused, left] = [count(503), count(0)];
  const ideal = perfectQueue(times, o.workers, o.workers / o.capacity * 1000, Math.min(o.grace, o.deadline));
  return {
    rate: o.rate,
    arrivals: times.length,
    good: sojourns.length,
    goodput: sojourns.length / o.seconds,
    refused,
    left,
    failed: times.length - sojourns.length - refused - left,
    p50: rank(sojourns, 0.5),
    p99: rank(sojourns, 0.99),
    idealP99: rank(sorted(ideal.sojourns), 0.99),
    lateP99: rank(sorted(late), 0.99),
  };
}
