import type { Reason } from "./lanes.ts";
import type { Growth, Quantiles, Span } from "./span.ts";

/** One database that the proxy lends connections to. */
export interface Database {
  readonly name: string;
  readonly up: boolean;
  /** Most connections to the server. */
  readonly limit: number;
  /** Connections to the server, by state. */
  readonly backends: readonly State[];
  /** Sessions of clients, by state. */
  readonly clients: readonly State[];
  /** Seconds. */
  readonly oldestWait: number;
  /** For a connection, of those who got one. */
  readonly waiting: Quantiles;
  readonly statement: Quantiles;
  readonly statements: Growth;
  readonly errors: Growth;
  readonly slow: Growth;
  readonly refusals: readonly Reason[];
  readonly resets: readonly Reason[];
  readonly overtakes: Growth;
  /** Statements that the proxy answered itself: `set`, `read`. */
  readonly learned: readonly Reason[];
}

export interface State {
  readonly name: string;
  readonly count: number;
}

export function databasesOf(span: Span): readonly Database[] {
  return span.now.valuesOf("fairlead_db_backends_limit", "db").map((name) => {
    const db = { db: name };
    const states = (metric: string) =>
      span.now.samples(`fairlead_db_${metric}`, db)
        .map(({ labels, value }) => ({ name: labels.get("state") ?? "", count: value }));
    return {
      name,
      up: span.gauge("fairlead_db_up", db) !== 0,
      limit: span.gauge("fairlead_db_backends_limit", db) ?? 0,
      backends: states("backends"),
      clients: states("clients"),
      oldestWait: span.gauge("fairlead_db_oldest_wait_seconds", db) ?? 0,
      waiting: span.quantiles("fairlead_db_checkout_wait_seconds", db),
      statement: span.quantiles("fairlead_db_query_seconds", db),
      statements: span.counter("fairlead_db_query_seconds_count", db),
      errors: span.counter("fairlead_db_errors_total", db),
      slow: span.counter("fairlead_db_slow_queries_total", db),
      refusals: span.counters("fairlead_db_refused_total", "reason", db).filter(({ label }) => label !== "left"),
      resets: span.counters("fairlead_db_resets_total", "outcome", db),
      overtakes: span.counter("fairlead_admission_overtakes_total", { lane: `db:${name}` }),
      learned: span.counters("fairlead_db_learned_total", "kind", db),
    };
  });
}
