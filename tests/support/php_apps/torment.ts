/**
 * Clients who ask without end, and somebody who breaks what serves them: workers killed, stopped and crashed, clients that leave,
 * reloads. Who is answered must have been answered with his own answer, and only a broken worker's request may fail.
 *
 * @module
 */
import process from "node:process";
import { openFiles } from "./open_files.ts";
import { rows, signal } from "./site.ts";
import { RawClient, type RawResponse } from "../raw_http.ts";
import type { TestServer } from "../server.ts";
import { pause, waitFor, within } from "../wait.ts";

/** What is done to the server, and how many requests of others each time may cost. */
const torments = {
  /** SIGKILL to a worker. */
  kill: 1,
  /** SIGSTOP to a worker: what it runs is over at the time limit. */
  stop: 1,
  /** Requests that crash their own worker, end it half-way, use up its memory. */
  segfault: 0,
  exit: 0,
  half: 0,
  blow: 0,
  /** Twenty clients that leave at some moment of their requests. */
  leave: 0,
  reload: 0,
} as const;

export type Torment = keyof typeof torments;

export const allTorments = Object.keys(torments) as readonly Torment[];

export interface TormentOptions {
  readonly server: TestServer;
  readonly seconds: number;
  readonly clients: number;
  readonly torments: readonly Torment[];
  /** Ms between two torments. */
  readonly every: number;
  /** Draws a number of [0, 1). */
  readonly random: () => number;
}

export interface Toll {
  readonly served: number;
  /** What went wrong for those who did nothing wrong. */
  readonly failures: readonly string[];
  /** How many failures what was done excuses. */
  readonly excused: number;
  /** Answers that were not the asker's. */
  readonly strange: readonly string[];
  readonly done: Readonly<Record<Torment, number>>;
  /** Clients that left. */
  readonly left: number;
  /** The slowest answer (ms). */
  readonly slowest: number;
}

const get = (path: string, more = "") => `GET ${path} HTTP/1.1\r\nHost: a\r\n${more}\r\n`;

export async function torment(options: TormentOptions): Promise<Toll> {
  const { server, random } = options;
  const failures: string[] = [];
  const strange: string[] = [];
  const done = Object.fromEntries(allTorments.map((name) => [name, 0])) as Record<Torment, number>;
  let served = 0, left = 0, slowest = 0, tokens = 0;
  let running = true;

  const check = (token: number, streamed: boolean, response: RawResponse | undefined): void => {
    if (response === undefined) return void failures.push("closed");
    if (response.status !== 200 || !response.complete) {
      return void failures.push(`${response.status}${response.complete ? "" : " cut"}`);
    }
    const expected = streamed ? `<${token}>${".".repeat(500)}`.repeat(20) : `<${token}>`;
    if (response.text() === expected) served++;
    else strange.push(`${expected.slice(0, 40)} got ${response.text().slice(0, 80)}`);
  };

  const client = async () => {
    let connection: RawClient | undefined;
    while (running) {
      const token = ++tokens;
      const streamed = random() < 0.2;
      const started = performance.now();
      try {
        connection ??= await RawClient.connect(server.port);
        await connection.send(
          get(streamed ? `/tokens?token=${token}` : `/echo?token=${token}&us=${Math.floor(random() * 15_000)}`),
        );
        const response = await connection.read({ timeout: 20_000 });
        check(token, streamed, response);
        if (response === undefined || !response.complete || response.header("connection") === "close") {
          connection.leave();
          connection = undefined;
        }
      } catch (error) {
        failures.push(String((error as Error).message).slice(0, 120));
        connection?.leave();
        connection = undefined;
      }
      slowest = Math.max(slowest, performance.now() - started);
    }
    connection?.leave();
  };

  const victim = async (): Promise<number | undefined> => {
    const pids = (await rows(server)).map(({ pid }) => pid).filter((pid) => pid > 0 && pid !== process.pid);
    return pids[Math.floor(random() * pids.length)];
  };
  /** Requests whose own fate is sealed; the answer does not matter, but there must be an end of it. */
  const doomed = async (path: string) => {
    const one = await RawClient.connect(server.port);
    await one.send(get(path, "Connection: close\r\n"));
    await one.read({ timeout: 20_000 }).catch(() => undefined);
    one.leave();
  };
  const leaver = async () => {
    const one = await RawClient.connect(server.port);
    const token = ++tokens;
    const bytes = random() < 0.5
      ? get(`/tokens?token=${token}`)
      : `POST /echo?token=${token}&us=${
        Math.floor(random() * 20_000)
      } HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n${"x".repeat(100_000)}`;
    // At the start, in the head, in the body, while waiting, while it is answered.
    await one.send(bytes.slice(0, Math.ceil(bytes.length * Math.min(1, random() * 1.5))));
    await pause(random() * 40);
    one.leave();
    left++;
  };
  const reloads: Promise<unknown>[] = [];
  const pending: Promise<unknown>[] = [];
  const act: Readonly<Record<Torment, () => Promise<void> | void>> = {
    async kill() {
      const pid = await victim();
      if (pid !== undefined) signal(pid, "SIGKILL");
    },
    async stop() {
      const pid = await victim();
      if (pid !== undefined) signal(pid, "SIGSTOP");
    },
    segfault: () => void pending.push(doomed("/kill?signal=11")),
    exit: () => void pending.push(doomed("/half-exit")),
    half: () => void pending.push(doomed("/half-kill")),
    blow: () => void pending.push(doomed("/blow")),
    leave: () => void pending.push(...Array.from({ length: 20 }, leaver)),
    reload: () =>
      void reloads.push(
        fetch(`${server.adminUrl}/-/reload`, { method: "POST", headers: { connection: "close" } }).then((response) =>
          response.json()
        ),
      ),
  };

  const clients = Array.from({ length: options.clients }, client);
  const end = performance.now() + options.seconds * 1000;
  for (let turn = 0; performance.now() < end; turn++) {
    const name = options.torments[turn % options.torments.length]!;
    done[name]++;
    await act[name]();
    await pause(options.every * (0.5 + random()));
  }
  running = false;
  await within(30_000, "The end of all clients", Promise.all(clients));
  await within(30_000, "The end of the broken requests", Promise.all(pending));
  await within(60_000, "The end of the reloads", Promise.all(reloads));
  const excused = allTorments.reduce((sum, name) => sum + done[name] * torments[name], 0);
  return { served, failures, excused, strange, done, left, slowest };
}

/** What a server holds: to be the same before and after. */
export interface Holdings {
  readonly files: number;
  readonly processes: number;
}

/** Waits until the server holds no more than before; as many as `spares` processes may have come or gone. */
export async function settled(
  server: TestServer,
  before: Holdings,
  processes: () => number,
  spares: number,
  timeout = 10_000,
): Promise<void> {
  await waitFor(() => {
    const now = { files: openFiles(server.pid).length, processes: processes() };
    // A keep-alive connection of the test's own fetch may have come or gone.
    if (now.files <= before.files + 3 + 2 * spares && Math.abs(now.processes - before.processes) <= spares) return true;
    throw new Error(`held ${JSON.stringify(before)}, holds ${JSON.stringify(now)}`);
  }, { what: "what the server holds to be as before", timeout });
}
