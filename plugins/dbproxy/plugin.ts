import { Executions } from "../../core/contracts/executions.ts";
import { Gates } from "../../core/contracts/gates.ts";
import { Health } from "../../core/contracts/health.ts";
import { Meter, noMeter } from "../../core/contracts/meter.ts";
import { Places } from "../../core/contracts/places.ts";
import { ScriptSettings } from "../../core/contracts/script_settings.ts";
import { StatementCaps } from "../../core/contracts/statement_caps.ts";
import { type AnyPlugin, definePlugin } from "../../core/plugin.ts";
import { adminRoutes } from "./admin_routes.ts";
import { systemClock } from "../../core/clock.ts";
import { dbSettings, dbTable } from "./config.ts";
import { type BoundDatabase, injection } from "./inject.ts";
import { MysqlProxy } from "./proxy.ts";
import { dbMetrics } from "./stats/metrics.ts";

const db: AnyPlugin = definePlugin({
  name: "db",
  api: 1,
  config: dbTable,
  needs: [Gates, Health, ScriptSettings],
  wants: [Executions, Meter, Places, StatementCaps],
  setup(ctx) {
    const { databases } = dbSettings(ctx.config, { baseDir: ctx.baseDir });
    if (databases.length === 0) return;
    const { log } = ctx;
    const gates = ctx.use(Gates), health = ctx.use(Health), scripts = ctx.use(ScriptSettings);
    const proxies: MysqlProxy[] = [];
    const caps = ctx.find(StatementCaps)?.serve(databases.map(({ name }) => name));
    const countsOf = dbMetrics(ctx.find(Meter) ?? noMeter, () => proxies);
    for (const settings of databases) {
      const proxy = new MysqlProxy(settings, {
        gate: gates.open(`db:${settings.name}`, settings.maxConnections, {
          maxQueue: settings.maxQueue,
          grace: settings.poolTimeout,
          // Requests that still run need the database to end.
          drains: false,
        }),
        log,
        counts: countsOf(settings.name),
        clock: systemClock,
        random: Math.random,
        executions: ctx.find(Executions),
        places: ctx.find(Places),
        caps: caps?.get(settings.name),
      });
      proxies.push(proxy);
      health.register(`db:${settings.name}`, () => proxy.problem());
    }
    return {
      onAdmin: (app) => adminRoutes(app, { databases: () => proxies }),
      // Before PHP starts: it is told the addresses.
      onListen: {
        order: "pre",
        async handler() {
          const bound: BoundDatabase[] = [];
          for (const [i, proxy] of proxies.entries()) {
            const places = await proxy.listen();
            const tcp = places.find((place) => place.kind === "tcp");
            const unix = places.find((place) => place.kind === "unix");
            bound.push({
              settings: databases[i]!,
              listen: tcp && { host: tcp.host, port: tcp.port },
              socket: unix?.path,
            });
          }
          const { additions, warnings } = injection(bound);
          for (const addition of additions) scripts.add("db", addition);
          for (const warning of warnings) log("warn", warning);
        },
      },
      onDrain: async (deadline) => void await Promise.all(proxies.map((proxy) => proxy.drain(deadline))),
      // After PHP, which may need the database to end.
      onClose: {
        order: "post",
        handler: async () => void await Promise.all(proxies.map((proxy) => proxy.close())),
      },
    };
  },
}) as AnyPlugin;

export default db;
