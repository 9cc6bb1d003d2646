/**
 * How a pool sees one PHP process, whatever protocol it speaks and however it came to be: started, or forked from one that
 * has booted. Each kind of worker is a {@linkcode Launch}; the pool in `pool.ts` knows nothing else of it.
 *
 * @module
 */
import type { CoreError } from "../../../core/error.ts";
import type { Exchange } from "../../../core/exchange.ts";
import type { ReplySink } from "../reply_sink.ts";
import type { Script } from "../resolve.ts";
import type { RequestBody } from "./body.ts";

/** What a worker is sent. Each protocol writes it in its own way. */
export interface WorkerRequest {
  readonly x: Exchange;
  /** Names for `$_SERVER`: of the front controller, whatever the worker script is called. */
  readonly script: Script;
  readonly body: RequestBody | undefined;
  /** What the body's files live by. */
  readonly kept?: Kept | undefined;
}

/** Something that stays for as long as anybody holds it. */
export interface Kept {
  hold(): void;
  /** Once for each `hold`. */
  release(): void;
}

/** How a process ended. */
export interface WorkerExit {
  /** Exit code, or null when a signal ended it. */
  readonly code: number | null;
  readonly signal: string | null;
  /** The last lines of its stderr, oldest first, at most 20. */
  readonly lastWords: readonly string[];
}

/** Told by a worker to its pool. Synchronous; none may throw. */
export interface WorkerEvents {
  /**
   * It can take a request: once it has booted, and after every request, when it is free again (which may be later than
   * the end of the response: see `fastcgi_finish_request`).
   */
  onReady(): void;
  /** It asks to be replaced; what runs is still answered. */
  onStopAsked(): void;
  /**
   * What it wrote makes no sense, or its connection broke: kill it. The sink of a running request is told by the pool, when
   * it has killed the process.
   */
  onBroken(error: CoreError): void;
  /** A line of its stderr, or of a stdout that is not its protocol. */
  onLine(text: string): void;
  /** The process is gone. The last call. */
  onExit(exit: WorkerExit): void;
}

/**
 * One worker. Calls after `onExit` do nothing. Between `onReady` and the next one it has one request at most: a second
 * `send` before is a mistake of the caller's and throws.
 */
export interface Worker {
  /** 0 while it is not known. */
  readonly pid: number;
  /**
   * Sends a request; the sink hears of the answer, and `onEnd` comes before `onReady`. Nothing is written before the
   * request can be written whole. An error thrown here (`PHP_PARAMS_TOO_LARGE`, 431) leaves the worker ready.
   */
  send(request: WorkerRequest, sink: ReplySink): void;
  /** Stops and goes on reading the answer: back-pressure reaches PHP's own writes. */
  pause(): void;
  resume(): void;
  /** The client has left: the script may learn of it. The sink hears nothing more; `onReady` follows when it is free. */
  cancel(): void;
  /** Asks an idle worker to end by itself: it runs its shutdown functions. */
  stop(): void;
  /** Ends the process and what it started (its group) at once. */
  kill(): void;
}

/** Begins to start a worker. Failures come as `onBroken` or `onExit`, never thrown. */
export type Launch = (events: WorkerEvents) => Worker;
