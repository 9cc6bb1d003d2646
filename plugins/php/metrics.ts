import type { Meter } from "../../core/contracts/meter.ts";
import type { ExecutionEnd } from "./executor.ts";
import type { RestartReason } from "./fastcgi/child.ts";
import type { ChildPool } from "./fastcgi/pool.ts";

/** Bounds in seconds: powers of two from 0.25 ms to 64 s. */
const bounds = Array.from({ length: 19 }, (_, i) => 0.00025 * 2 ** i);

/** What counts PHP's events. */
export interface PhpCounts {
  ended(end: ExecutionEnd, ms: number): void;
  restarted(reason: RestartReason): void;
}

/** Registers PHP's metrics. */
export function phpMetrics(meter: Meter, pool: () => ChildPool | undefined): PhpCounts {
  meter.gauge("fairlead_php_children", "PHP processes wanted.", () => pool()?.size ?? 0);
  meter.gauge("fairlead_php_alive", "PHP processes that can run a request or run one.", () => pool()?.alive ?? 0);
  meter.gauge("fairlead_php_busy", "PHP processes at work.", () => pool()?.busy ?? 0);
  meter.gauge(
    "fairlead_php_waiting",
    "Admitted requests that wait for a PHP process being replaced.",
    () => pool()?.waiting ?? 0,
  );
  const restarts = meter.counters("fairlead_php_restarts_total", "PHP processes replaced, by reason.", ["reason"]);
  const restart = {
    died: restarts.with("died"),
    killed: restarts.with("killed"),
    max_requests: restarts.with("max_requests"),
    timeout: restarts.with("timeout"),
  };
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
  return {
    ended(end, ms) {
      count[end].inc();
      seconds.observe(ms / 1000);
    },
    restarted: (reason) => restart[reason].inc(),
  };
}
