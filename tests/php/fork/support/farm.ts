/**
 * Forked workers of `app.php`, without a pool: whoever wants one, launches one.
 *
 * @module
 */
import { readdirSync, readFileSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { CoreError } from "../../../../core/error.ts";
import type { Exchange } from "../../../../core/exchange.ts";
import { type ForkLaunch, forkLaunch } from "../../../../plugins/php/fork/launch.ts";
import type { ReplySink } from "../../../../plugins/php/reply_sink.ts";
import type { Worker, WorkerExit, WorkerRequest } from "../../../../plugins/php/worker/handle.ts";
import { waitFor, within } from "../../../support/wait.ts";
import { openDoor, type TestDoor } from "./door.ts";

export const php = "/usr/bin/php";
export const phpCgi = "/usr/bin/php-cgi";
export const app: string = fileURLToPath(new URL("app.php", import.meta.url));

export interface Farm {
  readonly forks: ForkLaunch;
  readonly door: TestDoor;
  readonly lines: string[];
  readonly logs: string[];
  readonly problems: CoreError[];
  /** Pids whose parent is the forking process. */
  children(): number[];
  /** Takes a worker, sends it one request and waits for its end. */
  get(target: string): Promise<Got>;
  /** A worker that is ready. */
  worker(): Promise<Taken>;
  close(): Promise<void>;
}

export interface Got {
  readonly text: string;
  readonly exit: WorkerExit;
  readonly asked: boolean;
}

export interface Taken {
  readonly worker: Worker;
  /** Of each call, its name. */
  readonly calls: string[];
  readonly exited: Promise<WorkerExit>;
  text(): string;
  send(target: string): void;
}

export interface FarmOptions {
  readonly argv?: readonly [string, ...string[]];
  readonly env?: Record<string, string>;
  readonly spares?: number;
  readonly script?: string;
}

export async function openFarm(options: FarmOptions = {}): Promise<Farm> {
  const door = await openDoor();
  const lines: string[] = [];
  const logs: string[] = [];
  const problems: CoreError[] = [];
  const forks = forkLaunch({
    door,
    spares: options.spares ?? 2,
    process: {
      argv: [...(options.argv ?? [php, "-d", "opcache.enable_cli=1"]), options.script ?? app],
      env: { PATH: process.env["PATH"] ?? "", ...options.env },
    },
    onLine: (text) => lines.push(text),
    onLog: (_level, text) => logs.push(text),
    onProblem: (error) => problems.push(error),
  });
  const take = (): Taken & { ready: Promise<void> } => {
    const calls: string[] = [];
    const bytes: Uint8Array[] = [];
    let isReady = () => {};
    let hasExited = (_: WorkerExit) => {};
    const ready = new Promise<void>((done) => isReady = done);
    const exited = new Promise<WorkerExit>((done) => hasExited = done);
    const worker = forks.launch({
      onReady() {
        calls.push("ready");
        isReady();
      },
      onStopAsked: () => calls.push("stop asked"),
      onBroken: (error) => calls.push(`broken: ${error.message}`),
      onLine: (text) => lines.push(text),
      onExit(exit) {
        calls.push("exit");
        hasExited(exit);
        isReady();
      },
    });
    const sink: ReplySink = {
      onHead: () => calls.push("head"),
      onBody: () => calls.push("body"),
      onInformational: () => calls.push("informational"),
      onStdout: (chunk) => bytes.push(chunk.slice()),
      onStderr: () => {},
      onEnd: () => calls.push("end"),
      onFail: () => calls.push("fail"),
    };
    return {
      worker,
      calls,
      ready,
      exited,
      text: () => bytes.map((chunk) => new TextDecoder().decode(chunk)).join(""),
      send(target) {
        const request = { x: {} as Exchange, body: undefined, script: { documentUri: target } };
        worker.send(request as unknown as WorkerRequest, sink);
      },
    };
  };
  return {
    forks,
    door,
    lines,
    logs,
    problems,
    children: () => childrenOf(forks.pid),
    async worker() {
      const taken = take();
      await within(15_000, "a worker", taken.ready);
      return taken;
    },
    async get(target) {
      const taken = take();
      await within(15_000, "a worker", taken.ready);
      if (!taken.calls.includes("exit")) taken.send(target);
      const exit = await within(15_000, "its end", taken.exited);
      return {
        text: taken.text().split("\r\n\r\n").slice(1).join("\r\n\r\n"),
        exit,
        asked: taken.calls.includes("stop asked"),
      };
    },
    async close() {
      await within(10_000, "the end of the parent", forks.close());
      door.close();
    },
  };
}

export function childrenOf(parent: number): number[] {
  const found: number[] = [];
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const status = readFileSync(`/proc/${name}/stat`, "latin1");
      if (Number(status.slice(status.lastIndexOf(")") + 2).split(" ")[1]) === parent) found.push(Number(name));
    } catch {
      // it has just ended
    }
  }
  return found;
}

export function stateOf(pid: number): string | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/stat`, "latin1");
    return status[status.lastIndexOf(")") + 2];
  } catch {
    return undefined;
  }
}

export function gone(pid: number): Promise<unknown> {
  return waitFor(() => stateOf(pid) === undefined || stateOf(pid) === "Z", { what: `the end of process ${pid}` });
}
