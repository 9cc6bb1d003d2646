/**
 * One started process: a group of its own, tied to ours, its stderr read line by line.
 *
 * @module
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import type { Duplex, Readable, Writable } from "node:stream";
import { lineSplitter } from "../fpm_log.ts";
import { signal, tiedToUs } from "../processes.ts";
import { schedule, type Scheduling } from "../scheduling.ts";
import type { WorkerExit } from "./handle.ts";

export interface ProcessOptions {
  readonly argv: readonly [program: string, ...args: string[]];
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string | undefined;
  /** Run as these, when we are root. */
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
  /** As the kernel has it when absent. */
  readonly scheduling?: Scheduling | undefined;
  /** Whether stdin and stdout are pipes of the caller's; else stdin is empty and stdout read as stderr is. */
  readonly pipes?: boolean;
  onLine(text: string): void;
  onExit(exit: WorkerExit): void;
}

export interface StartedProcess {
  readonly pid: number;
  readonly stdin: Writable | undefined;
  readonly stdout: Readable | undefined;
  /** To the process alone. */
  signal(name: NodeJS.Signals): void;
  /** SIGKILL to the group. */
  kill(): void;
}

/** Lines of stderr that are kept for whoever asks why it ended. */
const kept = 20;
/** How long (ms) an ended process' last words are waited for, when something it started keeps its stderr open. */
const lastWordsMs = 500;

const shell = "/bin/sh";

/** Whether stdin and stdout are one socket: as two, Bun puts streams of its own upon them, with twice the system calls. */
function joins(): boolean {
  return "Bun" in globalThis && existsSync(shell);
}

/** Becomes the program behind it, with the socket that Bun gives a child as descriptor 3 for stdin and stdout. */
function joinedBy(env: Readonly<Record<string, string>>): readonly string[] {
  const own = ["PWD", "OLDPWD", "SHLVL"].filter((name) => env[name] === undefined);
  return [shell, "-c", `unset -v ${own.join(" ")}; exec "$@" <&3 >&3 3>&-`, "sh"];
}

/** Starts a process; a program that cannot be run is told by `onExit`. */
export async function startProcess(options: ProcessOptions): Promise<StartedProcess> {
  const { user, pipes = false } = options;
  const tied = await tiedToUs();
  const as = user === undefined ? [] : [`--reuid=${user.uid}`, `--regid=${user.gid}`, "--init-groups"];
  const joined = pipes && joins();
  const argv = joined ? [...joinedBy(options.env), ...options.argv] : options.argv;
  // One tool ties it to us and changes the user; without the tool, the runtime changes the user.
  const [program = "", ...args] = tied.length > 0 ? [...tied, ...as, ...argv] : argv;
  const child: ChildProcess = spawn(program, args, {
    env: options.env,
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    ...(user !== undefined && tied.length === 0 ? user : {}),
    stdio: joined ? ["ignore", "ignore", "pipe", "pipe"] : [pipes ? "pipe" : "ignore", "pipe", "pipe"],
    detached: true,
  });
  schedule(child.pid, options.scheduling);
  const words: string[] = [];
  const hear = (text: string) => {
    if (words.push(text) > kept) words.shift();
    options.onLine(text);
  };
  child.stderr?.on("data", lineSplitter(hear));
  if (!pipes) child.stdout?.on("data", lineSplitter(hear));
  const both = joined ? child.stdio[3] as unknown as Duplex | undefined : undefined;
  (both ?? child.stdin)?.on("error", () => {});
  let over = false;
  const end = (code: number | null, name: string | null) => {
    if (over) return;
    over = true;
    options.onExit({ code, signal: name, lastWords: words });
  };
  child.once("error", (error) => {
    words.push(`it does not run: ${error.message}`);
    end(127, null);
  });
  child.once("exit", (code, name) => {
    // What it has started ends with it.
    if (child.pid !== undefined) signal(-child.pid, "SIGKILL");
    const late = setTimeout(() => end(code, name), lastWordsMs);
    child.once("close", () => {
      clearTimeout(late);
      end(code, name);
    });
  });
  return {
    pid: child.pid ?? 0,
    stdin: both ?? child.stdin ?? undefined,
    stdout: pipes ? both ?? child.stdout ?? undefined : undefined,
    signal(name) {
      if (!over && child.pid !== undefined) signal(child.pid, name);
    },
    kill() {
      if (!over && child.pid !== undefined) signal(-child.pid, "SIGKILL");
    },
  };
}
