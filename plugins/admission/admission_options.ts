import type { Criticality, Gate, Refusal } from "../../core/contracts/gates.ts";
import type { Awaitable } from "../../core/plugin.ts";
import type { Clock } from "../../core/clock.ts";
import type { GateOptions } from "./gate_options.ts";

/** A request that was not let in. */
export interface Refused {
  readonly reason: Refusal;
  /** How long it stood in line, in ms; 0 when it never did. */
  readonly waitedMs: number;
  /** What it is answered with, unless `onRefuse` has something better: 503, 429, 504, or 499 for a client that has left. */
  readonly response: Response;
}

/**
 * What is asked of each request before it may run. `R` is what the functions are given: a `Request` for `admit`, Hono's
 * `Context` for `fairAdmission`. What they throw is thrown on, and the request has then taken nothing.
 */
export interface AdmissionRules<R> {
  /** True for what is never counted and never waits: health checks, metrics. */
  readonly exempt?: (request: R) => boolean;
  /** Permits a request takes; 1 when absent. More than the gate's limit is an error (`ADMISSION_WEIGHT`). */
  readonly weight?: number | ((request: R) => number);
  /** ms from now until when it has to be let in, else it is answered 504; undefined for no limit but the gate's grace. */
  readonly deadline?: number | ((request: R) => number | undefined);
  /** Its class, where the gate has classes; `critical` when absent. */
  readonly class?: (request: R) => Criticality | undefined;
  /** Whose share it takes, where the gate has keys: an address, a tenant. */
  readonly key?: (request: R) => string | undefined;
  /** Told of each request that is not let in; may answer it in its own way. */
  readonly onRefuse?: (request: R, refused: Refused) => Awaitable<Response | void>;
  /** The clock of a gate given as `gate`, where that is not the system's. */
  readonly clock?: Clock;
}

/**
 * How requests are let in: through a `FairGate` of these settings (`maxQueue` is 1000 and `grace` 10,000 ms when absent),
 * or through a `gate` made elsewhere, which may be shared, resized and read.
 */
export type AdmissionOptions<R> = AdmissionRules<R> & (GateOptions | { readonly gate: Gate });
