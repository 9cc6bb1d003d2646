/**
 * What was measured on what.
 *
 * @module
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { availableParallelism, cpus, release, totalmem } from "node:os";
import { resolveBinary } from "./binary.ts";

export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly kernel: string;
  readonly system: string;
  readonly versions: Readonly<Record<string, string>>;
}

/** The first line of output that holds a version number. */
function version(command: string, ...args: string[]): string {
  const run = spawnSync(command, args, { encoding: "utf8" });
  const line = `${run.stdout ?? ""}\n${run.stderr ?? ""}`.split("\n").find((text) => /\d+\.\d+/.test(text));
  return line?.trim() ?? "not found";
}

function osName(): string {
  try {
    return /^PRETTY_NAME="?([^"\n]+)/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1] ?? "Linux";
  } catch {
    return "Linux";
  }
}

/** @param more Other programs by name, and the commands that tell their version, in place of nginx and wrk. */
export function machine(
  php: string,
  fairleadRoot: string,
  more: Readonly<Record<string, readonly [string, ...string[]]>> = { nginx: ["nginx", "-v"], wrk: ["wrk", "-v"] },
): Machine {
  return {
    cpu: cpus()[0]?.model ?? "unknown",
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    system: osName(),
    versions: {
      php: version(resolveBinary(php), "-v"),
      ...Object.fromEntries(Object.entries(more).map(([name, command]) => [name, version(...command)])),
      bun: version(`${fairleadRoot}/node_modules/.bin/bun`, "--version"),
      deno: version(`${fairleadRoot}/node_modules/.bin/deno`, "--version"),
    },
  };
}

/** `nginx 1.22.1`, of what was there. */
export function versionNames({ versions }: Machine): string[] {
  return Object.entries(versions).filter(([, text]) => text !== "not found")
    .map(([name, text]) => `${name} ${/\d+(\.\d+)+/.exec(text)?.[0] ?? text}`);
}

/** The first item of a report's list. */
export function machineItem({ cpu, cores, memoryGiB, system, kernel }: Machine): string {
  return `- Machine: ${cpu}, ${cores} cores, ${memoryGiB} GiB, ${system}, Linux ${kernel}.`;
}
