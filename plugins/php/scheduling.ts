import process from "node:process";
import { type Call, find } from "../../core/libc.ts";

/**
 * How the kernel chooses between PHP and others that want the processor. `batch`, for very short scripts: a PHP process that has
 * something to do again waits until whoever runs has had its turn, instead of pushing it aside (`SCHED_BATCH`, sched(7)); its share
 * is the same. The server then ends its round before PHP begins with what it was just given: fewer changes between them, and one
 * round serves more.
 */
export type Scheduling = "batch" | "normal";

/** Of sched(7). */
const SCHED_BATCH = 3;

/** Looked up once; null where there is none. */
let setScheduler: Call | null | undefined;

/**
 * Has a process that we have just started, and all it starts from now on, be scheduled so. Does nothing where the system has no such
 * thing, or does not let us.
 */
export function schedule(pid: number | undefined, scheduling: Scheduling | undefined): void {
  if (scheduling !== "batch" || pid === undefined || process.platform !== "linux") return;
  setScheduler ??= find("sched_setscheduler", ["i32", "i32", "buffer"]) ?? null;
  // struct sched_param: a priority, which must be 0.
  setScheduler?.(pid, SCHED_BATCH, new Uint8Array(4));
}
