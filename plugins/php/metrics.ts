import type { Meter } from "../../core/contracts/meter.ts";
import type { ExecutionEnd } from "./executor.ts";
import type { ChildPool } from "./fastcgi/pool.ts";

/** Bounds in seconds: powers of two from 0.25 ms to 64 s. */
const bounds = Array.from({ length: 19 }, (_, i) => 0.00025 * 2 ** i);

/** Registers PHP's metrics; returns what counts one execution. */
export function phpMetrics(meter: Meter, pool: () => ChildPool | undefined): (end: ExecutionEnd, ms: number) => void {
  meter.gauge("fairlead_php_children", "PHP processes wanted.", () => pool()?.size ?? 0);
  meter.gauge("fairlead_php_alive", "PHP processes that can run a request or run one.", () => pool()?.alive ?? 0);
  meter.gauge("fairlead_php_busy", "PHP processes at work.", () => pool()?.busy ?? 0);
  meter.gauge(
    "fairlead_php_waiting",
    "Admitted requests that wait for a PHP process being replaced.",
    () => pool()?.waiting ?? 0,
  );
  meter.gauges("fairlead_php_restarts", "PHP processes replaced since the start, by reason.", ["reason"], function* () {
    for (const [reason, count] of Object.entries(pool()?.restarts ?? {})) yield [[reason], count] as const;
  });
  const seconds = meter.histogram(
    "fairlead_php_execution_seconds",
    "Time PHP took, without the wait before it.",
    bounds,
  );
  const ends = meter.counters("fairlead_php_executions_total", "Executions, by how they ended.", ["end"]);
  const count = {
    ok: ends.with("ok"),
    error: ends.with("error"),
    timeout: ends.with("timeout"),
    left: ends.with("left"),
  };
  return (end, ms) => {
    count[end].inc();
    seconds.observe(ms / 1000);
  };
}
