import { type Bulkhead, bulkheadsOf } from "./bulkheads.ts";
import { type Database, databasesOf } from "./databases.ts";
import { type Lane, lanesOf } from "./lanes.ts";
import { type Host, hostOf } from "./host.ts";
import { type Quantiles, Span, type SpanOptions } from "./span.ts";
import { type Traffic, trafficOf } from "./traffic.ts";

/** Everything that is shown of one moment. */
export interface Frame {
  readonly traffic: Traffic;
  /** What PHP took, without the wait before it. */
  readonly execution: Quantiles;
  /** The wait of those let in, in front of what they waited for. */
  readonly waiting: Quantiles;
  readonly lanes: readonly Lane[];
  readonly databases: readonly Database[];
  readonly bulkheads: readonly Bulkhead[];
  readonly host: Host;
}

/** Reckons what is shown from the scrapes of one process. */
export function frameOf(scrapes: SpanOptions): Frame {
  const span = new Span(scrapes);
  return {
    traffic: trafficOf(span),
    execution: span.quantiles("fairlead_php_execution_seconds"),
    waiting: span.quantiles("fairlead_admission_wait_seconds"),
    lanes: lanesOf(span),
    databases: databasesOf(span),
    bulkheads: bulkheadsOf(span),
    host: hostOf(span),
  };
}
