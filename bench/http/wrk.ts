/**
 * Runs wrk for one window and reads what it measured.
 *
 * @module
 */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { type Histogram, total, withoutCorrection } from "./histogram.ts";

export interface Load {
  readonly url: string;
  readonly connections: number;
  /** Whole seconds: wrk knows no others. */
  readonly seconds: number;
  /** The `Host` header, when it is not the address in the URL. */
  readonly host?: string | undefined;
}

export interface WrkErrors {
  readonly connect: number;
  readonly read: number;
  readonly write: number;
  readonly timeout: number;
  /** Answers with a status above 399. */
  readonly status: number;
}

export interface WrkResult {
  /** The time the run really took. */
  readonly seconds: number;
  readonly requests: number;
  readonly bytes: number;
  readonly errors: WrkErrors;
  readonly histogram: Histogram;
}

const TIMEOUT_SECONDS = 30;

/** Reads the output of `done.lua`; `connections` is needed to undo wrk's correction. */
export function parseWrk(output: string, connections: number): WrkResult {
  const start = output.indexOf("\nHISTOGRAM\n");
  const end = output.indexOf("\nEND", start);
  if (start < 0 || end < 0) throw new Error(`Cannot read wrk's output: no histogram in\n${output.slice(0, 2000)}`);
  const lines = output.slice(start, end).trim().split("\n").slice(1);
  const numbers = (line: string | undefined, word: string): number[] => {
    const [first, ...rest] = (line ?? "").split(" ");
    if (first !== word) throw new Error(`Cannot read wrk's output: expected "${word} ...", got "${line}"`);
    return rest.map(Number);
  };
  const [duration = 0, requests = 0, bytes = 0] = numbers(lines[0], "run");
  const [connect = 0, read = 0, write = 0, timeout = 0, status = 0] = numbers(lines[1], "errors");
  const corrected = new Map<number, number>();
  for (const line of lines.slice(2)) {
    const [value, count] = line.split(" ").map(Number);
    if (value !== undefined && count) corrected.set(value, count);
  }
  const perConnection = Math.floor(requests / connections);
  const interval = perConnection > 0 ? Math.floor(duration / perConnection) : 0;
  const histogram = withoutCorrection(corrected, interval);
  const counted = total(histogram);
  if (counted + timeout !== requests || [...histogram.values()].some((n) => n < 0)) {
    throw new Error(`The histogram holds ${counted} samples, but wrk finished ${requests} requests`);
  }
  return {
    seconds: duration / 1e6,
    requests,
    bytes,
    errors: { connect, read, write, timeout, status },
    histogram,
  };
}

/** One thread, keep-alive, closed loop. */
export async function runWrk(load: Load): Promise<WrkResult> {
  const script = fileURLToPath(new URL("./done.lua", import.meta.url));
  const args = ["-t1", `-c${load.connections}`, `-d${load.seconds}s`, "--latency", "--timeout", `${TIMEOUT_SECONDS}s`];
  if (load.host !== undefined) args.push("-H", `Host: ${load.host}`);
  args.push("-s", script, load.url);
  const child = spawn("wrk", args, { stdio: ["ignore", "pipe", "pipe"] });
  let out = "";
  let err = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => out += text);
  child.stderr.setEncoding("utf8").on("data", (text: string) => err += text);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on("error", (error) => reject(new Error(`Cannot run wrk: ${error.message}; install the package wrk`)));
    child.on("close", resolve);
  });
  if (code !== 0) throw new Error(`wrk ended with ${code}: ${err || out}`);
  return parseWrk(out, load.connections);
}
