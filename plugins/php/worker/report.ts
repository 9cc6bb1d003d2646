import { CoreError } from "../../../core/error.ts";
import type { WorkerRestart } from "./restarts.ts";
import type { WorkerExit } from "./handle.ts";

/** What is known of a worker that has ended. */
export interface WorkerReport {
  readonly pid: number;
  readonly reason: WorkerRestart;
  /** Undefined when the process could not be ended. */
  readonly exit: WorkerExit | undefined;
  /** What was wrong, when more is known than how the process ended. */
  readonly error: CoreError | undefined;
  /** Milliseconds from its start. */
  readonly uptime: number;
  /** Requests it was sent. */
  readonly requests: number;
  /** Path and query of its last request; undefined when it had none. */
  readonly lastTarget: string | undefined;
  /** Whether `lastTarget` was not answered when it ended. */
  readonly running: boolean;
}

/** `exit code 255` or `SIGSEGV`. */
export function describeExit(exit: WorkerExit | undefined): string {
  if (exit === undefined) return "no sign of its end";
  return exit.signal ?? (exit.code === null ? "it never ran" : `exit code ${exit.code}`);
}

/** One line for the log. */
export function describeCrash(report: WorkerReport): string {
  const { pid, reason, exit, error, uptime, requests, lastTarget, running } = report;
  const parts = [`PHP worker ${pid || "?"} ${reason === "boot_failed" ? "did not boot" : `ended (${reason})`}`];
  parts.push(describeExit(exit));
  if (error !== undefined) parts.push(error.message);
  if (reason !== "boot_failed") parts.push(`after ${(uptime / 1000).toFixed(1)} s and ${requests} requests`);
  if (lastTarget !== undefined) parts.push(running ? `running ${lastTarget}` : `last request ${lastTarget}`);
  return parts.join(", ");
}

/** How PHP begins to tell of an error that ends a script; a trace follows, which says less. */
const fatal = /\b(?:Fatal|Parse|Compile|Core) error\b|\bUncaught /;

/** What an ended process said last, on one line: its fatal error, or its last three lines; may be empty. */
export function lastSaid({ lastWords }: Pick<WorkerExit, "lastWords">): string {
  const lines = lastWords.filter((line) => line.trim() !== "");
  const error = lines.findLast((line) => fatal.test(line));
  return error?.trim() ?? lines.slice(-3).join(" | ");
}

/** Why a boot failed, with the last words of the process. */
export function bootError(exit: WorkerExit | undefined, cause: CoreError | undefined): CoreError {
  const words = exit === undefined ? "" : lastSaid(exit);
  const why = cause?.message ?? describeExit(exit);
  const text = words === "" || cause?.message.includes(words) ? why : `${why}: ${words}`;
  return new CoreError("PHP_WORKER_BOOT", `The PHP worker does not boot: ${text}`, { status: 503, cause });
}

export function bootTimeout(ms: number): CoreError {
  return new CoreError("PHP_WORKER_BOOT", `it asked for no request within ${ms} ms of its start`, { status: 503 });
}

export function workerDied(exit: WorkerExit): CoreError {
  const text = `The PHP worker ended (${describeExit(exit)}) before it had answered; its log may say why`;
  return new CoreError("PHP_WORKER_DIED", text, { status: 502 });
}

export function workerGone(): CoreError {
  return new CoreError("PHP_WORKER_DIED", "The PHP worker ended before the request was sent", { status: 502 });
}

export function workerStuck(): CoreError {
  return new CoreError("PHP_WORKER_STUCK", "The PHP worker was stopped by a signal; it has been ended", {
    status: 502,
  });
}

export function outOfMemory(rss: number, limit: number): CoreError {
  const [has, may] = [rss, limit].map((bytes) => `${Math.round(bytes / 2 ** 20)} MB`);
  const text = `The PHP worker used ${has} of memory, over its hard limit of ${may}; it has been ended`;
  return new CoreError("PHP_WORKER_MEMORY", text, { status: 502 });
}

export function readyTooSoon(): CoreError {
  return new CoreError("PHP_PROTOCOL", "The PHP worker asked for a request before it had answered one", {
    status: 502,
  });
}

export function poolClosed(): CoreError {
  return new CoreError("PHP_POOL_CLOSED", "The PHP pool is closing; try again", { status: 503 });
}
