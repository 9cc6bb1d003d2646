import type { Meter } from "../../core/contracts/meter.ts";
import type { PoolFigures } from "./engine.ts";
import type { ExecutionEnd } from "./executor.ts";
import type { WorkerRestart } from "./worker/restarts.ts";

/** Bounds in seconds: powers of two from 0.25 ms to 64 s. */
const bounds = Array.from({ length: 19 }, (_, i) => 0.00025 * 2 ** i);

/** What counts one pool's events. */
export interface PhpCounts {
  ended(end: ExecutionEnd, ms: number): void;
  restarted(reason: WorkerRestart): void;
}

/** Registers PHP's metrics; `pools` are those that are up, by lane. */
export function phpMetrics(
  meter: Meter,
  pools: () => Iterable<readonly [lane: string, figures: PoolFigures]>,
): (lane: string) => PhpCounts {
  const gauges: readonly (readonly [name: string, help: string, figure: keyof PoolFigures])[] = [
    ["fairlead_php_children", "PHP processes wanted.", "size"],
    ["fairlead_php_alive", "PHP processes that can run a request or run one.", "alive"],
    ["fairlead_php_busy", "PHP processes at work.", "busy"],
    ["fairlead_php_processes", "PHP processes there are, with those that boot, end or are spare.", "processes"],
    ["fairlead_php_boot_failures", "Boots of PHP workers that failed since one worked.", "bootFailures"],
    ["fairlead_php_waiting", "Admitted requests that wait for a PHP process being replaced.", "waiting"],
  ];
  for (const [name, help, figure] of gauges) {
    meter.gauges(name, help, ["pool"], function* () {
      for (const [lane, figures] of pools()) yield [[lane], figures[figure]];
    });
  }
  const restarts = meter.counters("fairlead_php_restarts_total", "PHP processes replaced, by reason.", [
    "pool",
    "reason",
  ]);
  const seconds = meter.histograms(
    "fairlead_php_execution_seconds",
    "Time PHP took, without the wait before it.",
    bounds,
    ["pool"],
  );
  const ends = meter.counters("fairlead_php_executions_total", "Executions, by how they ended.", ["pool", "end"]);
  return (lane) => {
    const time = seconds.with(lane);
    const count = {
      ok: ends.with(lane, "ok"),
      error: ends.with(lane, "error"),
      timeout: ends.with(lane, "timeout"),
      left: ends.with(lane, "left"),
    };
    return {
      ended(end, ms) {
        count[end].inc();
        time.observe(ms / 1000);
      },
      restarted: (reason) => restarts.with(lane, reason).inc(),
    };
  };
}
