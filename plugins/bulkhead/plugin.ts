/**
 * Bulkheads: named caps on simultaneous calls, for plugins, for scripts, and for routes and statements of the configuration.
 *
 * @module
 */
import { Bulkheads } from "../../core/contracts/bulkheads.ts";
import { Executions } from "../../core/contracts/executions.ts";
import { Gates } from "../../core/contracts/gates.ts";
import { Health } from "../../core/contracts/health.ts";
import { Meter, noMeter } from "../../core/contracts/meter.ts";
import { Places } from "../../core/contracts/places.ts";
import { ScriptSettings } from "../../core/contracts/script_settings.ts";
import { StatementCaps as StatementCapsService } from "../../core/contracts/statement_caps.ts";
import { type AnyPlugin, definePlugin } from "../../core/plugin.ts";
import { adminRoutes } from "./admin_routes.ts";
import { type Clock, systemClock } from "../../core/clock.ts";
import { CappedStatements } from "./capped_statements.ts";
import { bulkheadTable, termsOf } from "./config.ts";
import { Figures } from "./figures.ts";
import { Limits } from "./limits.ts";
import { Door } from "./local/door.ts";
import { bulkheadGauges, BulkheadMeter, metered } from "./metrics.ts";
import { RefusalLog } from "./refusal_log.ts";
import { BulkheadRegistry } from "./registry.ts";
import { RequestOwners } from "./request_owners.ts";
import { CappedRoute } from "./routes.ts";
import { StatementCaps } from "./statement_caps.ts";
import { makers } from "./stores.ts";

/** The bulkhead plugin on a given clock, which must be that of the gates and of `Exchange.deadline`. */
export function bulkhead(clock: Clock = systemClock): AnyPlugin {
  return definePlugin({
    name: "bulkhead",
    api: 1,
    config: bulkheadTable,
    needs: [Gates],
    wants: [Meter, Health, Executions, ScriptSettings, Places],
    provides: [Bulkheads, StatementCapsService],
    setup(ctx) {
      const { config } = ctx;
      const limits = new Limits(
        Object.entries(config.limits).map(([name, own]) => [name, termsOf(name, own)] as const),
      );
      const meter = ctx.find(Meter) ?? noMeter;
      const events = new BulkheadMeter(meter, limits);
      const made = makers[config.store]!({
        gates: ctx.use(Gates),
        limits,
        events,
        log: ctx.log,
        clock,
        baseDir: ctx.baseDir,
        redis: config.redis,
      });
      const { store: inner } = made;
      if (made.check !== undefined) ctx.find(Health)?.register(ctx.name, () => made.check!());
      const figures = new Figures(inner, limits, () => clock.now());
      bulkheadGauges(meter, () => figures.read());
      const refusals = new RefusalLog(ctx.log, clock);
      const store = metered(inner, events, refusals);
      ctx.provide(Bulkheads, new BulkheadRegistry(store, limits));
      const requests = new RequestOwners();
      const door = config.store === "memory" && config.socket === undefined ? undefined : new Door({
        store,
        path: config.socket,
        group: config.socket_group,
        baseDir: ctx.baseDir,
        executions: ctx.find(Executions),
        ownerOf: (execution) => requests.of(execution),
        scripts: ctx.find(ScriptSettings),
        places: ctx.find(Places),
        log: ctx.log,
      });
      const routes = config.routes.map((route) => new CappedRoute(store, route, limits, requests, () => clock.now()));
      const statements = new StatementCaps(
        config.statements.map((table) => new CappedStatements(store, table, limits)),
      );
      ctx.provide(StatementCapsService, statements);

      return {
        // Before PHP starts: it is told the socket.
        onListen: {
          order: "pre",
          async handler() {
            statements.check();
            await made.listen?.();
            await door?.open();
          },
        },
        onAdmin: (app) => adminRoutes(app, inner, limits),
        ...(routes.length === 0 ? undefined : {
          onAdmit: {
            // Before the gate: whoever waits here must not hold a worker meanwhile.
            order: "pre",
            handler: (x) => routes.find((route) => route.matches(x))?.admit(x),
          },
        }),
        onDrain() {
          for (const route of routes) route.drain();
        },
        // After PHP, which may hold permits to its end.
        onClose: {
          order: "post",
          async handler() {
            await inner.close();
            door?.close();
            refusals.close();
          },
        },
      };
    },
  }) as AnyPlugin;
}

export default bulkhead() as AnyPlugin;
