import type { Executions } from "../../core/contracts/executions.ts";
import type { Exchange } from "../../core/exchange.ts";
import type { Awaitable, Execution } from "../../core/plugin.ts";
import type { Script } from "./resolve.ts";

/** What is counted of a pool's processes, read when it is scraped. */
export interface PoolFigures {
  /** Processes wanted. */
  readonly size: number;
  /** Processes that can take a request or run one. */
  readonly alive: number;
  readonly busy: number;
  /** Admitted requests that wait for a process being replaced. */
  readonly waiting: number;
  /** Processes there are: those that boot, end or are kept spare, too. */
  readonly processes: number;
  /** Boots that failed since one worked. */
  readonly bootFailures: number;
}

/** One process, for people and for `/-/php`. */
export interface ProcessRow {
  readonly pid: number;
  readonly state: string;
  readonly requests?: number;
  /** Seconds. */
  readonly uptime_s?: number;
  /** Bytes. */
  readonly rss?: number | undefined;
  /** The request it runs: its id, and path and query. */
  readonly id?: string | undefined;
  readonly target?: string | undefined;
}

/** One pool of PHP processes that is up: php-fpm's or workers. */
export interface Engine {
  readonly figures: PoolFigures;
  readonly executions: Executions;
  /**
   * What runs the exchange, once its body is here: nothing waits and no process is taken before. A response where nothing can run
   * it.
   */
  execution(x: Exchange, script: Script): Awaitable<Execution | Response>;
  /** The exchange is over: what it left is freed. */
  finish(x: Exchange): void;
  /** Why it cannot run requests now, or undefined. */
  problem(): string | undefined;
  rows(): readonly ProcessRow[];
  /** Takes new code and settings of the application, losing no request. */
  reload(): Promise<void>;
  close(): Promise<void>;
}
