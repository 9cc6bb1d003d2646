import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import process from "node:process";
import { memoryKept, ownArguments } from "../allocator.ts";

/** How to start a program. */
export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * What this process was started with, as it is on disk by now: by the name it was called by, which may be a link to another version
 * since. The environment is that of this process, and where Bun keeps its memory it need not start itself over for it again.
 */
export function ownCommand(): Command {
  const [called = "", ...rest] = readFileSync("/proc/self/cmdline", "utf8").split("\0").slice(0, -1);
  const named = called.includes("/") ? resolve(called) : "";
  const onBun = "Bun" in globalThis;
  return {
    program: named !== "" && existsSync(named) ? named : process.execPath,
    args: onBun ? ownArguments() : rest,
    env: { ...(onBun ? memoryKept : {}), ...process.env },
  };
}
