import type { Growth, Quantiles, Span } from "./span.ts";

/** Something counted by a reason. */
export interface Reason extends Growth {
  readonly label: string;
}

/** The PHP processes of a lane. */
export interface Processes {
  readonly wanted: number;
  readonly busy: number;
  readonly idle: number;
  /** Wanted, and not able to run anything yet. */
  readonly starting: number;
  /** Those beyond the ones above: successors that boot, ones that end, spares. */
  readonly others: number;
  readonly bootFailures: number;
  /** Admitted requests that wait for a process being replaced. */
  readonly waiting: number;
  readonly restarts: readonly Reason[];
  readonly failed: readonly Reason[];
  readonly execution: Quantiles;
}

/** One gate, and the processes behind it if PHP runs there. */
export interface Lane {
  readonly name: string;
  readonly limit: number;
  readonly inUse: number;
  readonly queued: number;
  /** Seconds. */
  readonly oldestWait: number;
  readonly overloaded: boolean;
  readonly classes: readonly { readonly name: string; readonly queued: number }[];
  readonly waiting: Quantiles;
  readonly admitted: Growth;
  readonly refusals: readonly Reason[];
  readonly overtakes: Growth;
  /** 99th percentile of wait over that of an ideal line; undefined while nobody waits. */
  readonly fairness: number | undefined;
  readonly processes: Processes | undefined;
}

/** Ends of an admission that turned nobody away. Whatever else there is, or will be, is a refusal. */
const inward = new Set(["immediate", "queued", "exempt"]);

/** Every gate there is, and every pool without one. Those in front of databases are told of with these. */
export function lanesOf(span: Span): readonly Lane[] {
  const databases = span.now.valuesOf("fairlead_db_backends_limit", "db").map((name) => `db:${name}`);
  const gates = span.now.valuesOf("fairlead_admission_limit", "lane");
  const pools = span.now.valuesOf("fairlead_php_children", "pool");
  const names = [...new Set([...gates, ...pools])].filter((name) => !databases.includes(name));
  return names.map((name) => laneOf(span, name, pools.includes(name)));
}

function laneOf(span: Span, name: string, php: boolean): Lane {
  const lane = { lane: name };
  const gauge = (metric: string) => span.gauge(`fairlead_admission_${metric}`, lane);
  const ends = span.counters("fairlead_admission_total", "outcome", lane);
  const processes = php ? processesOf(span, name) : undefined;
  const letIn = ends.filter(({ label }) => inward.has(label));
  return {
    name,
    limit: gauge("limit") ?? processes?.wanted ?? 0,
    inUse: gauge("in_use") ?? processes?.busy ?? 0,
    queued: gauge("queued") ?? 0,
    oldestWait: gauge("oldest_wait_seconds") ?? 0,
    overloaded: gauge("overloaded") === 1,
    classes: span.now.samples("fairlead_admission_class_queued", lane)
      .map(({ labels, value }) => ({ name: labels.get("class") ?? "", queued: value })),
    waiting: span.quantiles("fairlead_admission_wait_seconds", lane),
    admitted: sum([span.nothing, ...letIn]),
    // Who left of his own was not turned away.
    refusals: ends.filter(({ label }) => !inward.has(label) && label !== "cancelled"),
    overtakes: span.counter("fairlead_admission_overtakes_total", lane),
    fairness: gauge("fairness_ratio"),
    processes,
  };
}

function processesOf(span: Span, name: string): Processes {
  const pool = { pool: name };
  const gauge = (metric: string) => span.gauge(`fairlead_php_${metric}`, pool) ?? 0;
  const [wanted, alive, busy, all] = [gauge("children"), gauge("alive"), gauge("busy"), gauge("processes")];
  const starting = Math.max(0, wanted - alive);
  return {
    wanted,
    busy,
    idle: Math.max(0, alive - busy),
    starting,
    others: Math.max(0, all - Math.max(alive, busy) - starting),
    bootFailures: gauge("boot_failures"),
    waiting: gauge("waiting"),
    restarts: span.counters("fairlead_php_restarts_total", "reason", pool),
    failed: span.counters("fairlead_php_executions_total", "end", pool).filter(({ label }) => label !== "ok"),
    execution: span.quantiles("fairlead_php_execution_seconds", pool),
  };
}

/** Several counters as one. */
export function sum(all: readonly Growth[]): Growth {
  const rates = all.flatMap(({ perSecond }) => perSecond ?? []);
  return {
    total: all.reduce((total, one) => total + one.total, 0),
    increase: all.reduce((total, one) => total + one.increase, 0),
    perSecond: rates.length === 0 ? undefined : rates.reduce((total, rate) => total + rate, 0),
  };
}
