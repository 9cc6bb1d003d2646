import type { WorkerRestart } from "./restarts.ts";
import type { BootRules } from "./boots.ts";
import type { Launch, WorkerRequest } from "./handle.ts";
import type { WorkerReport } from "./report.ts";
import type { MemberRules } from "./rules.ts";
import type { ScaleRules } from "./scaler.ts";

/** All callbacks are synchronous and must not throw. Times are ms, memory is bytes. */
export interface WorkerPoolOptions extends MemberRules, BootRules {
  readonly launch: Launch;
  /** Workers to hold; with `scale` the fewest. The gate before the pool begins with as many permits. */
  readonly size: number;
  /** Processes beyond `size` there may be while workers are replaced; one more than `spares` when absent, and at least. */
  readonly surge?: number;
  /**
   * Ready workers to keep beyond `size`; 0 when absent. For workers that answer one request each (`maxRequests: 1`), whose
   * successors are to be ready before they are needed.
   */
  readonly spares?: number;
  readonly scale?: ScaleRules;
  /** How long (ms) a reload waits for old workers at work, its new one ready, before it lets them end by themselves; 5 s. */
  readonly reloadPatience?: number;
  /** From 0 to below 1; `Math.random` when absent. */
  readonly random?: () => number;
  /**
   * The number of workers that can be counted on has changed: give the gate as many permits. It grows when another worker is
   * ready, and shrinks before one is stopped.
   */
  readonly onSize?: (size: number) => void;
  /** A process is done with what it ran, and with its work behind the response: it can run something else, or is gone. */
  readonly onFreed?: (pid: number) => void;
  /** A worker has left for this reason. */
  readonly onRestart?: (reason: WorkerRestart) => void;
  /** A worker did not boot, died, or was ended because it hung or took too much memory. Once each, when it is gone. */
  readonly onCrash?: (report: WorkerReport) => void;
  /** A line of a worker's stderr, with the request it ran. */
  readonly onLine?: (pid: number, text: string, request: WorkerRequest | undefined) => void;
}
