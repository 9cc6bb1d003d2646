import { resolve } from "node:path";
import { ClosedPaths } from "../../core/contracts/closed_paths.ts";
import { Executions } from "../../core/contracts/executions.ts";
import { Gates } from "../../core/contracts/gates.ts";
import { Health } from "../../core/contracts/health.ts";
import { Meter, noMeter } from "../../core/contracts/meter.ts";
import { Reloads } from "../../core/contracts/reloads.ts";
import { ScriptSettings } from "../../core/contracts/script_settings.ts";
import { Site, type VirtualHost } from "../../core/contracts/site.ts";
import { CoreError } from "../../core/error.ts";
import type { Exchange } from "../../core/exchange.ts";
import { type AnyPlugin, definePlugin } from "../../core/plugin.ts";
import { type FolderWatch, watchFolders } from "../../core/watch/watch_folders.ts";
import { watchRules } from "../../core/watch/watch_patterns.ts";
import { engineOf, phpTable, type PoolSettings, poolSettings } from "./config.ts";
import { PhpLane } from "./lane.ts";
import { clearLeftOver } from "./left_over.ts";
import { poolMatcher, takesAll } from "./match.ts";
import { phpMetrics } from "./metrics.ts";

const php: AnyPlugin = definePlugin({
  name: "php",
  api: 1,
  config: phpTable,
  needs: [Site, Health],
  wants: [Gates, Meter, ScriptSettings, Reloads, ClosedPaths],
  provides: [Executions],
  setup(ctx) {
    const { config: base, log } = ctx;
    const site = ctx.use(Site);
    const reloads = ctx.find(Reloads);
    const lanes: PhpLane[] = [];
    ctx.provide(Executions, {
      byPid(pid) {
        for (const { engine } of lanes) {
          const running = engine?.executions.byPid(pid);
          if (running !== undefined) return running;
        }
        return undefined;
      },
      whenEnded(pid, ended) {
        for (const { engine } of lanes) {
          const takeBack = engine?.executions.whenEnded(pid, ended);
          if (takeBack !== undefined) return takeBack;
        }
        return undefined;
      },
      *pids() {
        for (const { engine } of lanes) if (engine !== undefined) yield* engine.executions.pids();
      },
    });
    const count = phpMetrics(ctx.find(Meter) ?? noMeter, function* () {
      for (const { name, engine } of lanes) if (engine !== undefined) yield [name, engine.figures];
    });
    const { virtualHosts } = site;
    const add = (
      name: string,
      settings: PoolSettings,
      matches: (x: Exchange) => boolean,
      hosts: readonly VirtualHost[],
    ) => {
      if (settings.timeout > site.timeoutMs) {
        const text =
          `${name}: expected a timeout of at most server.timeout (${site.timeoutMs} ms); raise that one, and ` +
          "give other pools a shorter one of their own";
        throw new CoreError("CONFIG_PHP", text);
      }
      if (engineOf(settings) !== "worker" && virtualHosts.every(({ publicRoot }) => publicRoot === undefined)) return;
      const [gates, told, closed] = [ctx.find(Gates), ctx.find(ScriptSettings), ctx.find(ClosedPaths)];
      const lane = new PhpLane({ name, settings, matches, site, hosts, closed, count: count(name), log, gates, told });
      lanes.push(lane);
      ctx.use(Health).register(name, () => lane.engine === undefined ? "starting" : lane.engine.problem());
      const { watch, root = "." } = settings;
      const watches = watch.length === 0 ? undefined : watchRules(resolve(site.baseDir, root), watch).matches;
      reloads?.register(name, () => lane.reload(), watches);
    };
    let left: readonly VirtualHost[] = virtualHosts;
    for (const [name, own] of Object.entries(base.pools)) {
      const taken = left.filter((host) => takesAll(own.match, host));
      left = left.filter((host) => !taken.includes(host));
      add(`php:${name}`, poolSettings(base, own), poolMatcher(own.match), taken);
    }
    // A worker script is one application: other sites are not its.
    const applies = engineOf(base) !== "worker" || virtualHosts.length === 1;
    add("php", base, applies ? () => true : (x) => x.virtualHost.index === 0, left);
    for (const { name } of left.filter(({ index }) => !applies && index > 0)) {
      log(
        "info",
        `no PHP for ${name}: php.script is for server.public; a pool with match.host = ["${name}"] would give it some`,
      );
    }
    if (lanes.length === 0) {
      log("info", "no PHP: neither server.public nor server.hosts names a folder to serve");
      return;
    }
    const laneOf = (x: Exchange): PhpLane | undefined => {
      for (const lane of lanes) if (lane.matches(x)) return lane;
      return undefined;
    };
    const watches: FolderWatch[] = [];
    const watch = (lane: PhpLane, { watch: patterns, root = "." }: PoolSettings) => {
      if (patterns.length === 0 || reloads === undefined) return;
      watches.push(watchFolders({
        root: resolve(site.baseDir, root),
        patterns,
        onChange(paths) {
          log("info", "files changed: reloading", { pool: lane.name, first: paths[0], changed: paths.length });
          void reloads.one(lane.name);
        },
        onNotice: (text) => log("warn", text),
      }));
    };

    return {
      async onListen() {
        await clearLeftOver(log);
        for (const lane of lanes) await lane.start();
        for (const lane of lanes) watch(lane, lane.settings);
      },

      onAdmin(app) {
        app.get("/-/php", (c) =>
          c.json({
            pools: lanes.map(({ name, engine }) => ({
              name,
              problem: engine === undefined ? "starting" : engine.problem() ?? null,
              size: engine?.figures.size ?? 0,
              alive: engine?.figures.alive ?? 0,
              busy: engine?.figures.busy ?? 0,
              processes: engine?.rows() ?? [],
            })),
          }));
      },

      onResolve: (x) => laneOf(x)?.resolve(x),

      onResponse(x) {
        for (const { engine } of lanes) engine?.finish(x);
      },

      async onClose() {
        for (const watched of watches) watched.close();
        await Promise.all(lanes.map(({ engine }) => engine?.close()));
      },
    };
  },
}) as AnyPlugin;

export default php;
