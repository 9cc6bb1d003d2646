import type { Growth, Quantiles, Span } from "./span.ts";

/** The server's own process. */
export interface Host {
  /** Its growth by the second is the share of one CPU. */
  readonly cpu: Growth;
  /** Bytes. */
  readonly resident: number | undefined;
  readonly heapUsed: number | undefined;
  readonly lag: Quantiles;
  /** Seconds; the longest of the last half to whole minute. */
  readonly lagMax: number | undefined;
  readonly openFiles: number | undefined;
  readonly maxFiles: number | undefined;
  /** Seconds since 1970. */
  readonly startedAt: number | undefined;
  readonly version: string | undefined;
  /** `bun 1.4.5`. */
  readonly runtime: string | undefined;
  /** Numbers that the server could not read or keep. */
  readonly metricErrors: number;
}

export function hostOf(span: Span): Host {
  const build = span.now.samples("fairlead_build_info")[0]?.labels;
  return {
    cpu: span.counter("process_cpu_seconds_total"),
    resident: span.gauge("process_resident_memory_bytes"),
    heapUsed: span.gauge("fairlead_heap_used_bytes"),
    lag: span.quantiles("fairlead_event_loop_lag_seconds"),
    lagMax: span.gauge("fairlead_event_loop_lag_max_seconds"),
    openFiles: span.gauge("process_open_fds"),
    maxFiles: span.gauge("process_max_fds"),
    startedAt: span.gauge("process_start_time_seconds"),
    version: build?.get("version"),
    runtime: build && `${build.get("runtime")} ${build.get("runtime_version")}`,
    metricErrors: span.gauge("fairlead_metrics_errors_total") ?? 0,
  };
}
