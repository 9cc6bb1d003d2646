import type { Health } from "../../core/contracts/health.ts";
import type { Meter } from "../../core/contracts/meter.ts";

/** Registers what `/readyz` answers. */
export function readyMetrics(meter: Meter, health: Pick<Health, "look">): void {
  meter.gauge("fairlead_ready", "Whether /readyz answers 200: 1, or 0", () => Number(health.look().ready));
  meter.gauges(
    "fairlead_part_ready",
    "Whether a part of the server is ready: 1, or 0 where /readyz says why not",
    ["part"],
    () => Object.entries(health.look().parts).map(([part, state]) => [[part], Number(state === "ready")] as const),
  );
}
