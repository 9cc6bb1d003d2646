import process from "node:process";
import { ignoreHangUp } from "./libc.ts";

/**
 * The environment in which Bun keeps the memory that it once took. Its allocator, mimalloc, reads it when a process
 * starts: the time in ms after which freed pages go back to the kernel; below zero they never do.
 *
 * By default they go back within milliseconds and are taken anew with the next request. Of the server's own CPU time 29 %
 * went into that for a small page, and 43 % where requests are few and long. See docs/performance.md.
 *
 * @example
 * spawn("bun", ["--smol", "server.ts"], { env: { ...process.env, ...memoryKept } });
 */
export const memoryKept = { MIMALLOC_PURGE_DELAY: "-1" } as const;

/**
 * Has Bun keep its memory ({@linkcode memoryKept}) by starting this process over, with the same pid and arguments. Does
 * nothing where that was done already, where somebody chose the setting, and on Deno. Call it before anything is open and
 * before signals have handlers, which are lost with the program. SIGHUP is ignored until there is one again.
 *
 * It takes the setting out of `process.env`, for what is started from here need not have it.
 */
export function keepMemory(): void {
  if (!("Bun" in globalThis)) return;
  const chosen = process.env["MIMALLOC_PURGE_DELAY"];
  if (chosen === undefined) startOver({ ...process.env, ...memoryKept });
  else if (chosen === memoryKept.MIMALLOC_PURGE_DELAY) delete process.env["MIMALLOC_PURGE_DELAY"];
}

function startOver(env: NodeJS.ProcessEnv): void {
  const { execve } = process as { execve?: (file: string, args: readonly string[], env: NodeJS.ProcessEnv) => never };
  if (execve === undefined) return;
  // It says that execve is experimental, on a terminal that belongs to the server.
  const { emitWarning } = process;
  process.emitWarning = () => {};
  // The new program has no handler yet, and by default SIGHUP would end it. What is ignored stays ignored.
  ignoreHangUp(true);
  try {
    execve(process.execPath, [process.argv0, ...ownArguments()], env);
  } catch {
    // It serves as well without, only slower.
    ignoreHangUp(false);
  } finally {
    process.emitWarning = emitWarning;
  }
}

/** What Bun was started with, after the program's name, as it can be started with again. */
export function ownArguments(): readonly string[] {
  // The script of the single binary is within itself, and its options are built in.
  const single = process.argv[1]?.startsWith("/$bunfs/") === true;
  if (single) return process.argv.slice(2);
  // Bun would go on from where its option has led: of several it takes the last.
  const { execArgv } = process;
  const here = execArgv.some((option) => option.startsWith("--cwd")) ? [`--cwd=${process.cwd()}`] : [];
  return [...execArgv, ...here, ...process.argv.slice(1)];
}
