/**
 * Looking at processes and ending them, safely: a pid is trusted only after /proc has said whose child it is.
 *
 * @module
 */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import process from "node:process";

/** The parent of a process, or undefined when it is gone (or this system has no /proc). */
export function parentOf(pid: number): number | undefined {
  if (!Number.isSafeInteger(pid) || pid < 1) return undefined;
  try {
    const ppid = /^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    return ppid === undefined ? undefined : Number(ppid);
  } catch {
    return undefined;
  }
}

/** Sends SIGKILL to `pid` if it is a child of `parent`; true when it was sent. */
export function killChildOf(parent: number, pid: number): boolean {
  return parentOf(pid) === parent && signal(pid, "SIGKILL");
}

/** Sends a signal to a process, or to the group of a negative pid; false when there is none. */
export function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

let tied: Promise<readonly string[]> | undefined;

/**
 * The command to put in front of another so that it gets SIGTERM when this process dies, however it dies; empty where
 * no tool for that exists (util-linux has one, busybox has not).
 */
export function tiedToUs(): Promise<readonly string[]> {
  const command = ["setpriv", "--pdeathsig", "TERM"];
  tied ??= new Promise((done) => {
    execFile("setpriv", [...command.slice(1), "true"], (error) => done(error === null ? command : []));
  });
  return tied;
}
