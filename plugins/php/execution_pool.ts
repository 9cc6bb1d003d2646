import type { CoreError } from "../../core/error.ts";
import type { RestartReason } from "./fastcgi/child.ts";
import type { ReplySink } from "./reply_sink.ts";

/**
 * The right to use one PHP process. It ends with `done`, `kill` or `hangUp`, whichever comes first; everything after that
 * does nothing, so that a late call can never touch the process' next holder.
 */
export interface ExecutionLease<R> {
  /** The process lent. */
  readonly pid: number;
  /** False when the process was lost: `send` fails as `unsent`, and all there is to do is `done`. */
  readonly alive: boolean;
  send(request: R, sink: ReplySink): void;
  pause(): void;
  resume(): void;
  /**
   * Gives the process back, after the response has ended or failed; before, it is a `kill`.
   *
   * @param onFree called once, when a process is there for someone else. It must not throw.
   */
  done(onFree?: () => void): void;
  /** Ends the process, whatever it does. The sink of a running request hears nothing more. */
  kill(reason: "killed" | "timeout", onFree?: () => void): void;
  /** Nobody waits for the answer any more: the process is told as well as its protocol can. The sink hears nothing more. */
  hangUp(onFree?: () => void): void;
}

/** Someone who waits for a process. */
export interface ExecutionWaiter<R> {
  /** Called once, with a process that is this waiter's. It must not throw; it may call the pool. */
  onLease(lease: ExecutionLease<R>): void;
  /** Called once instead, when the pool closes. */
  onRefuse(error: CoreError): void;
}

/** A pool of PHP processes that take requests of type `R`. Who comes here holds a permit of the pool's gate. */
export interface ExecutionPool<R> {
  checkout(): ExecutionLease<R> | undefined;
  wait(waiter: ExecutionWaiter<R>): void;
  cancel(waiter: ExecutionWaiter<R>): boolean;
  /** Why no request can be executed, for `/readyz`; undefined when at least one process can. */
  problem(): string | undefined;
  /** Processes wanted. */
  readonly size: number;
  /** Processes that can take a request or run one. */
  readonly alive: number;
  readonly busy: number;
  readonly waiting: number;
  readonly executions: number;
  readonly restarts: Readonly<Partial<Record<RestartReason, number>>>;
}
