/**
 * Arrivals that do not wait for answers: drawn beforehand with exponential gaps, sent when their time has come, each on a
 * connection that is free or on a new one. Who is not answered in time leaves.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { parseResponse } from "../http/probe.ts";
import { percentile, perfectQueue } from "./perfect_queue.ts";

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

function draws(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export function arrivalTimes(rate: number, seconds: number, seed: number): number[] {
  const draw = draws(seed);
  const times: number[] = [];
  for (let at = 0;;) {
    at += -Math.log(1 - draw()) / rate * 1000;
    if (at >= seconds * 1000) return times;
    times.push(at);
  }
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
  const request = `GET ${o.path} HTTP/1.1\r\nHost: 127.0.0.1:${o.port}\r\n\r\n`;
  const idle: Socket[] = [];
  const sojourns: number[] = [];
  const late: number[] = [];
  let refused = 0, left = 0, failed = 0, open = times.length;
  let over: () => void;
  const ended = new Promise<void>((resolve) => over = resolve);
  const start = performance.now() + 50;

  const ask = (due: number) => {
    late.push(performance.now() - due);
    const socket = idle.pop() ?? connect({ port: o.port, host: "127.0.0.1", noDelay: true });
    let data: Buffer | undefined;
    const finish = (keep: boolean) => {
      clearTimeout(timer);
      socket.removeAllListeners();
      socket.on("error", () => {});
      if (keep) {
        idle.push(socket);
        socket.on("close", () => {
          const at = idle.indexOf(socket);
          if (at >= 0) idle.splice(at, 1);
        });
      } else socket.destroy();
      if (--open === 0) over();
    };
    const timer = setTimeout(() => {
      left++;
      finish(false);
    }, Math.max(0, due + o.deadline - performance.now()));
    socket.on("data", (chunk: Buffer) => {
      data = data === undefined ? chunk : Buffer.concat([data, chunk]);
      const response = parseResponse(data, false);
      if (response === undefined) return;
      const took = performance.now() - due;
      if (response.status >= 200 && response.status < 300) sojourns.push(took);
      else if (response.status === 503) refused++;
      else failed++;
      finish(true);
    });
    const broken = () => {
      failed++;
      finish(false);
    };
    socket.on("error", broken);
    socket.on("close", broken);
    socket.write(request);
  };

  let next = 0;
  await new Promise<void>((resolve) => {
    const turn = () => {
      const now = performance.now() - start;
      while (next < times.length && times[next]! <= now) ask(start + times[next++]!);
      if (next >= times.length) return resolve();
      const wait = times[next]! - (performance.now() - start);
      // A timer may be a millisecond late: what is due within two is waited for by going round.
      if (wait > 2) setTimeout(turn, wait - 1.5);
      else setImmediate(turn);
    };
    turn();
  });
  if (open > 0) await ended;
  for (const socket of idle) socket.destroy();

  const ideal = perfectQueue(times, o.workers, o.workers / o.capacity * 1000, Math.min(o.grace, o.deadline));
  return {
    rate: o.rate,
    arrivals: times.length,
    good: sojourns.length,
    goodput: sojourns.length / o.seconds,
    refused,
    left,
    failed,
    p50: percentile(sojourns, 0.5),
    p99: percentile(sojourns, 0.99),
    idealP99: percentile(ideal.sojourns, 0.99),
    lateP99: percentile(late, 0.99),
  };
}
