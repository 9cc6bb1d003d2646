import * as z from "zod";
import { Exposition } from "../../core/contracts/exposition.ts";
import { Health } from "../../core/contracts/health.ts";
import { Meter } from "../../core/contracts/meter.ts";
import { Traffic } from "../../core/contracts/traffic.ts";
import { type AnyPlugin, definePlugin } from "../../core/plugin.ts";
import { version } from "../../core/version.ts";
import { preferredFormat } from "./accept.ts";
import { LoopLag } from "./event_loop.ts";
import { contentTypes } from "./exposition.ts";
import { durationBounds, HttpMetrics } from "./http_metrics.ts";
import { processMetrics } from "./process_metrics.ts";
import { readyMetrics } from "./ready_metrics.ts";
import { Registry } from "./registry.ts";

/** Seconds, ascending. */
const buckets = z.array(z.number().positive()).min(1).refine(
  (bounds) => bounds.every((bound, i) => i === 0 || bound > bounds[i - 1]!),
  "expected seconds in ascending order",
);

const config = z.strictObject({
  path: z.string().regex(/^\/[\w./-]*$/, "expected a path such as /metrics").default("/metrics")
    .describe("Where the admin listener shows the metrics."),
  buckets: buckets.default([...durationBounds])
    .describe("Bounds of `fairlead_http_request_duration_seconds`, in seconds, ascending."),
});

/** Gives every plugin a meter, counts requests, and shows the numbers on the admin listener, never on a public one. */
export default definePlugin({
  name: "metrics",
  api: 1,
  config,
  wants: [Traffic, Health],
  provides: [Meter, Exposition],
  setup(ctx) {
    const reported = new Set<string>();
    const registry = new Registry({
      onError(metric, error) {
        if (reported.has(metric)) return;
        reported.add(metric);
        ctx.log("warn", "Cannot read or keep a metric; said once for each", { metric, error: String(error) });
      },
    });
    processMetrics(registry, { version });
    const lag = new LoopLag(registry);
    const http = new HttpMetrics(registry, ctx.config.buckets);
    const traffic = ctx.find(Traffic);
    if (traffic !== undefined) {
      const help = "Requests that have begun and not ended";
      registry.gauge("fairlead_http_requests_in_flight", help, () => traffic.inFlight);
    }
    const health = ctx.find(Health);
    if (health !== undefined) readyMetrics(registry, health);
    ctx.provide(Meter, registry);
    ctx.provide(Exposition, { path: ctx.config.path });
    return {
      onListen: () => lag.start(),
      onAdmin(app) {
        app.get(ctx.config.path, (c) => {
          const format = preferredFormat(c.req.header("accept"));
          return c.body(registry.expose(format), 200, {
            "content-type": contentTypes[format],
            "cache-control": "no-store",
            "vary": "Accept",
          });
        });
      },
      onResponse: (x, outcome) => http.ended(x, outcome),
      onClose: () => lag.stop(),
    };
  },
}) as AnyPlugin;
