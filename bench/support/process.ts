/**
 * Starts servers and makes sure none outlives the run.
 *
 * @module
 */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { executable, tree } from "./procfs.ts";

export interface Started {
  readonly pid: number;
  readonly command: readonly string[];
  /** The end of what it wrote to stdout and stderr. */
  log(): string;
  /** False once it has ended. */
  alive(): boolean;
  /** SIGTERM, and SIGKILL for what is left of it and its children after 5 s. */
  stop(): Promise<void>;
}

const running = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of running) child.kill("SIGTERM");
});

/** Every server leads a process group, so that what it started can be ended even when it crashed itself. */
function killGroup(leader: number): void {
  try {
    process.kill(-leader, "SIGKILL");
  } catch {
    // Nobody is left.
  }
}

for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(130));

export interface Launch {
  readonly command: readonly [string, ...string[]];
  readonly logFile: string;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export function launch({ command, logFile, cwd, env }: Launch): Started {
  const [file, ...args] = command;
  const fd = openSync(logFile, "a");
  const child = spawn(file, args, { cwd, env: { ...process.env, ...env }, stdio: ["ignore", fd, fd], detached: true });
  closeSync(fd);
  let ended = false;
  const closed = new Promise<void>((resolve) => {
    const end = () => {
      ended = true;
      running.delete(child);
      resolve();
    };
    child.on("exit", end);
    child.on("error", end);
  });
  if (child.pid === undefined) throw new Error(`Cannot start ${file}: is it installed and executable?`);
  running.add(child);
  return {
    pid: child.pid,
    command,
    log: () => readFileSync(logFile, "utf8").slice(-2000),
    alive: () => !ended,
    async stop() {
      const pid = child.pid as number;
      if (!ended) {
        // A server may lead its own children into groups of their own; those are found while they have a parent.
        const family = tree(pid).slice(1).map((of) => ({ of, file: executable(of) }));
        child.kill("SIGTERM");
        const kill = setTimeout(() => child.kill("SIGKILL"), 5_000);
        await closed;
        clearTimeout(kill);
        for (const { of, file } of family) {
          if (file !== undefined && executable(of) === file) process.kill(of, "SIGKILL");
        }
      }
      killGroup(pid);
    },
  };
}

/** Polls `check` until it is true; throws when the process ends first or the time is up. */
export async function until(what: string, of: Started, check: () => Promise<boolean>, ms = 20_000): Promise<void> {
  const end = performance.now() + ms;
  for (;;) {
    if (!of.alive()) throw new Error(`${what}: ${of.command.join(" ")} has ended\n${of.log()}`);
    if (await check().catch(() => false)) return;
    if (performance.now() > end) throw new Error(`${what}: not within ${ms} ms\n${of.log()}`);
    await sleep(25);
  }
}
