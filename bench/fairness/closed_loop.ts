/**
 * Clients that ask again as soon as they are answered, each on a connection of its own; every latency of every client is
 * kept. A closed loop omits nothing: each client's clock runs from its sending to its answer, and the time from an answer
 * to the next sending, the generator's own, is what `accounted` shows to be missing.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { connect, type Socket } from "node:net";
import process from "node:process";
import { parseResponse } from "../support/probe.ts";
import type { Clock } from "./clock.ts";
import { parseTold } from "./pages.ts";

/** One answered request; all times in ms of the machine's monotonic clock. */
export interface Answer {
  readonly client: number;
  readonly sent: number;
  readonly answered: number;
  /** As the page told it. */
  readonly pid: number;
  readonly started: number;
  readonly ended: number;
}

export interface ClosedLoopOptions {
  readonly port: number;
  readonly path: string;
  readonly clients: number;
  /** Answers before the window opens: some laps of the line, so that its start-up is over. */
  readonly warm: number;
  readonly warmMs: number;
  /** The window closes with the first answer after both. */
  readonly answers: number;
  readonly windowMs: number;
  /** The clock of the pages. */
  readonly now: Clock;
}

export interface ClosedLoop {
  /** Of the whole run: warm-up, window, and until the last client was answered. */
  readonly answers: readonly Answer[];
  readonly opened: number;
  readonly closed: number;
  /** Answers that were no 2xx or no page of ours, and connections that broke. */
  readonly wrong: readonly string[];
  /** What the generator used of one core. */
  readonly cpu: number;
}

const STALLED_MS = 60_000;

export async function closedLoop(o: ClosedLoopOptions): Promise<ClosedLoop> {
  const request = Buffer.from(`GET ${o.path} HTTP/1.1\r\nHost: 127.0.0.1:${o.port}\r\n\r\n`);
  const answers: Answer[] = [];
  const wrong: string[] = [];
  const sockets: Socket[] = await Promise.all(Array.from({ length: o.clients }, () => dial(o.port)));
  const began = o.now();
  const cpuBefore = process.cpuUsage();
  let opened = 0, openedAt = 0, closed = 0, busy = 0;
  const { promise: over, resolve, reject } = Promise.withResolvers<void>();

  /** The first answers open and close the window, so that it holds whole intervals between departures. */
  const watch = (now: number) => {
    if (opened === 0) {
      if (answers.length >= o.warm && now - began >= o.warmMs) [opened, openedAt] = [now, answers.length];
    } else if (closed === 0 && answers.length - openedAt >= o.answers && now - opened >= o.windowMs) closed = now;
  };

  sockets.forEach((socket, client) => {
    let data: Buffer | undefined;
    let sent = 0;
    const ask = () => {
      sent = o.now();
      socket.write(request);
    };
    const broken = (why: string) => reject(new Error(`Client ${client} of ${o.path}: ${why}`));
    socket.on("error", (error) => broken(error.message));
    socket.on("close", () => broken("the connection was closed"));
    socket.on("data", (chunk: Buffer) => {
      const answered = o.now();
      data = data === undefined ? chunk : Buffer.concat([data, chunk]);
      const response = parseResponse(data, false);
      if (response === undefined) return;
      data = undefined;
      const told = response.status >= 200 && response.status < 300 ? parseTold(response.body.toString()) : undefined;
      if (told === undefined) wrong.push(`${response.status} ${response.body.toString().slice(0, 40)}`);
      else answers.push({ client, sent, answered, pid: told.pid, started: told.start, ended: told.end });
      watch(answered);
      // A server that refuses everything would never fill a window.
      if (wrong.length > 100) return reject(new Error(`${o.path}: over 100 wrong answers, the first ${wrong[0]}`));
      if (closed === 0) return ask();
      if (--busy === 0) resolve();
    });
    busy++;
    ask();
  });

  let seen = -1;
  const stalled = setInterval(() => {
    if (answers.length === seen) reject(new Error(`${o.path}: no answer for ${STALLED_MS / 1000} s`));
    seen = answers.length;
  }, STALLED_MS);
  try {
    await over;
  } finally {
    clearInterval(stalled);
    for (const socket of sockets) {
      socket.removeAllListeners("close");
      socket.destroy();
    }
  }
  const { user, system } = process.cpuUsage(cpuBefore);
  return { answers, opened, closed, wrong, cpu: (user + system) / 1000 / (o.now() - began) };
}

function dial(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    socket.once("error", reject);
    socket.once("connect", () => {
      socket.removeListener("error", reject);
      resolve(socket);
    });
  });
}
