import type { Clock } from "../../../core/clock.ts";
import type { Log } from "../../../core/plugin.ts";
import type { Limits } from "../limits.ts";
import type { BulkheadEvents } from "../store.ts";
import type { Dial } from "./dial.ts";
import type { OutagePolicy } from "./host.ts";
import type { ScriptOptions } from "./script.ts";

/** What a Redis store is made of. Times are in ms. */
export interface RedisStoreOptions {
  /** How Redis is reached: `dialRedis({ url })`. */
  readonly dial: Dial;
  /** How all its keys and channels begin; `fairlead:bulkhead:` when absent. */
  readonly prefix?: string | undefined;
  /** The host's own limits: callers may ask for less, never for more. */
  readonly limits?: Limits | undefined;
  readonly events?: BulkheadEvents | undefined;
  /** What is done while Redis cannot be reached; `closed` when absent. */
  readonly outage?: OutagePolicy | undefined;
  /** How long Redis may be away before that is done; who waits goes on waiting until then. 500 when absent. */
  readonly grace?: number | undefined;
  /** Hosts that there are at least: a host's share of a limit is `limit / hosts` under `degraded`. 1 when absent. */
  readonly hosts?: number | undefined;
  /** Longest time between two looks at who waits: what a lost message costs. 1000 when absent. */
  readonly tick?: number | undefined;
  /** Without any answer for so long, the connection is made anew; 2000 when absent. */
  readonly commandTimeout?: number | undefined;
  readonly log?: Log | undefined;
  /** Told what a listener threw, and what Redis answered to a command of its own; the store goes on. Thrown from a microtask when absent. */
  readonly onError?: ((error: unknown) => void) | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: (() => number) | undefined;
  /** For tests. */
  readonly script?: ScriptOptions | undefined;
}
