import { type Token, token } from "../plugin.ts";

/** What a process runs now. */
export interface RunningExecution {
  /** Of the HTTP request, as in `X-Request-Id`. */
  readonly id: string;
  /** Path and query of the HTTP request, as they stood in the request line. */
  readonly target: string;
  /** When the execution began, in ms on the monotonic clock (`performance.now`): what a process did before was another's. */
  readonly started: number;
  /** When the request must have ended, on the same clock: what it asks of others later than that is of use to nobody. */
  readonly deadline: number;
}

/** Which HTTP request a process of this machine works for. Looked up in what runs now: not for hot paths. */
export interface Executions {
  /** What a process runs; undefined when it runs nothing, or is not known. */
  byPid(pid: number): RunningExecution | undefined;
  /**
   * Runs `ended` once when what the process runs now has ended, in whatever way, and before the process runs anything else. It must
   * not throw. Returns what takes that back; undefined when the process runs nothing.
   */
  whenEnded(pid: number, ended: () => void): (() => void) | undefined;
  /** The processes that run something. */
  pids(): Iterable<number>;
}

/** The service of whoever executes scripts. */
export const Executions: Token<Executions> = token("executions@1");
