import { readFileSync } from "node:fs";

/** A look at a process from outside. */
export interface ProcessLook {
  /** Resident bytes. */
  readonly rss: number;
  /** Stopped by a signal or a debugger: it will not answer. */
  readonly stopped: boolean;
}

/** Looks at a process in /proc; undefined when it is gone, or this system has no /proc. */
export function inspectProcess(pid: number): ProcessLook | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/status`, "latin1");
  } catch {
    return undefined;
  }
  const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(text)?.[1];
  return { rss: Number(kilobytes ?? 0) * 1024, stopped: /^State:\s+[Tt]/m.test(text) };
}
