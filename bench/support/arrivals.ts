/**
 * Arrivals that do not wait for answers: drawn beforehand with exponential gaps, sent when their time has come, each on a
 * connection that is free or on a new one. Who is not answered in time leaves.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { connect, type Socket } from "node:net";
import { seeded } from "../../tests/support/seeded.ts";
import { parseResponse } from "./probe.ts";

/** Ms from the start, ascending. */
export function arrivalTimes(rate: number, seconds: number, seed: number): number[] {
  const draw = seeded(seed);
  const times: number[] = [];
  for (let at = 0;;) {
    at += -Math.log(1 - draw()) / rate * 1000;
    if (at >= seconds * 1000) return times;
    times.push(at);
  }
}

export interface Arrival {
  /** Ms from the start. */
  readonly at: number;
  readonly path: string;
}

export interface Outcome {
  /** The answer's status; 0 for none, because the client left at its deadline; -1 for a broken connection. */
  readonly status: number;
  /** Ms from the moment the request was due. */
  readonly took: number;
}

export interface Sent {
  /** One for each arrival. */
  readonly outcomes: readonly Outcome[];
  /** Ms that each was sent after it was due: the generator's own fault. */
  readonly late: readonly number[];
  /** When the first moment of the arrivals was (`performance.now`). */
  readonly start: number;
}

/** @param deadline ms after which a client leaves */
export async function send(port: number, arrivals: readonly Arrival[], deadline: number): Promise<Sent> {
  const outcomes: Outcome[] = new Array(arrivals.length);
  const idle: Socket[] = [];
  const late: number[] = [];
  let open = arrivals.length;
  const { promise: ended, resolve: over } = Promise.withResolvers<void>();
  const start = performance.now() + 50;

  const ask = (index: number) => {
    const due = start + arrivals[index]!.at;
    late.push(performance.now() - due);
    const socket = idle.pop() ?? connect({ port, host: "127.0.0.1", noDelay: true });
    let data: Buffer | undefined;
    const finish = (status: number, keep: boolean) => {
      outcomes[index] = { status, took: performance.now() - due };
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
    const timer = setTimeout(() => finish(0, false), Math.max(0, due + deadline - performance.now()));
    socket.on("data", (chunk: Buffer) => {
      data = data === undefined ? chunk : Buffer.concat([data, chunk]);
      const response = parseResponse(data, false);
      if (response !== undefined) finish(response.status, true);
    });
    socket.on("error", () => finish(-1, false));
    socket.on("close", () => finish(-1, false));
    socket.write(`GET ${arrivals[index]!.path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`);
  };

  let next = 0;
  await new Promise<void>((resolve) => {
    const turn = () => {
      const now = performance.now() - start;
      while (next < arrivals.length && arrivals[next]!.at <= now) ask(next++);
      if (next >= arrivals.length) return resolve();
      const wait = arrivals[next]!.at - (performance.now() - start);
      // A timer may be a millisecond late: what is due within two is waited for by going round.
      if (wait > 2) setTimeout(turn, wait - 1.5);
      else setImmediate(turn);
    };
    turn();
  });
  if (open > 0) await ended;
  for (const socket of idle) socket.destroy();
  return { outcomes, late, start };
}
