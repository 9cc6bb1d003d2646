import { Executions } from "../../core/contracts/executions.ts";
import { Gates } from "../../core/contracts/gates.ts";
import { Health } from "../../core/contracts/health.ts";
import { Meter, noMeter } from "../../core/contracts/meter.ts";
import { ScriptSettings } from "../../core/contracts/script_settings.ts";
import { Site } from "../../core/contracts/site.ts";
import type { Exchange } from "../../core/exchange.ts";
import { answer } from "../../core/http/answers.ts";
import { type AnyPlugin, type Awaitable, definePlugin, type Execution } from "../../core/plugin.ts";
import { chooseConcurrency } from "./concurrency.ts";
import { phpTable } from "./config.ts";
import { diskFs, folderIdentity } from "./disk_fs.ts";
import { PhpExecutor } from "./executor.ts";
import { type FpmEngine, ownFpm, useFpm } from "./fpm_engine.ts";
import { phpMetrics } from "./metrics.ts";
import { closedTo, realFolder } from "./readable.ts";
import { requestWriter } from "./request_writer.ts";
import { makeResolver, type Script } from "./resolve.ts";
import { rememberResolutions } from "./resolve_cache.ts";
import { isRoot, poolUser, userIds } from "./runtime_dir.ts";
import { receiveBody, type ReceivedBody } from "./spool.ts";

/** Request bodies up to this size (bytes) are kept in memory until PHP takes them. */
const bodyInMemory = 131_072;

/** Why PHP will find no script, when that can be told beforehand. */
function unreadable(publicRoot: string, user: string = poolUser().user): string | undefined {
  const folder = realFolder(publicRoot);
  if (folder === undefined) return `server.public is no folder: ${publicRoot}`;
  const ids = isRoot() ? userIds(user) : undefined;
  const closed = ids === undefined ? undefined : closedTo(ids, folder);
  if (closed === undefined) return undefined;
  return `PHP runs as ${user}, who may not enter ${closed}: every page will be "File not found"; ` +
    `open that folder to it, or set php.user`;
}

const php: AnyPlugin = definePlugin({
  name: "php",
  api: 1,
  config: phpTable,
  needs: [Site, Health],
  wants: [Gates, Meter, ScriptSettings],
  provides: [Executions],
  setup(ctx) {
    const { config: settings, log } = ctx;
    const site = ctx.use(Site);
    const { publicRoot } = site;
    let executor: PhpExecutor | undefined;
    ctx.provide(Executions, { byPid: (pid) => executor?.byPid(pid), pids: () => executor?.pids() ?? [] });
    if (publicRoot === undefined) {
      log("info", "no PHP: server.public names no folder to serve");
      return;
    }
    const chosen = settings.concurrency > 0 ? undefined : chooseConcurrency();
    const children = chosen?.children ?? settings.concurrency;
    let engine: FpmEngine | undefined;
    ctx.use(Health).register("php", () => engine === undefined ? "starting" : engine.problem());
    const count = phpMetrics(ctx.find(Meter) ?? noMeter, () => engine?.pool);

    const resolve = rememberResolutions(
      makeResolver({
        publicRoot,
        index: settings.index,
        frontController: settings.front_controller,
        allow: settings.allow,
        deny: settings.deny,
      }, diskFs),
      { identity: () => folderIdentity(publicRoot), now: () => performance.now() },
    );
    let write = requestWriter(site.software);

    const execution = (script: Script, body?: ReceivedBody): Execution => ({
      lane: "php",
      run: (x) => executor!.run(x, write(x, script, body?.body), body),
    });
    /** Bodies in files. Most are freed by the run that used them; who is turned away before never gets one. */
    const spooled = new Map<Exchange, ReceivedBody>();
    /** Takes the whole body before anything waits: a slow client holds neither a place in the line nor a process. */
    const receive = async (x: Exchange, stream: ReadableStream<Uint8Array>, script: Script): Promise<Execution> => {
      const body = await receiveBody(stream, { memory: bodyInMemory, dir: engine!.spoolDir });
      if (!(body.body instanceof Uint8Array)) spooled.set(x, body);
      return execution(script, body);
    };

    return {
      async onListen() {
        if (chosen !== undefined) log("info", chosen.reason);
        const warning = settings.fastcgi === undefined ? unreadable(publicRoot, settings.user) : undefined;
        if (warning !== undefined) log("warn", warning);
        const told = ctx.find(ScriptSettings)?.read(settings);
        // The environment of a php-fpm that is not ours comes with each request; its php.ini cannot.
        if (settings.fastcgi !== undefined) write = requestWriter(site.software, told?.env ?? settings.env);
        const options = {
          settings: { ...settings, ...told },
          children,
          log,
          onGreeted: (pid: number) => executor?.greeted(pid),
          onRestart: count.restarted,
        };
        engine = settings.fastcgi === undefined ? await ownFpm(options) : useFpm(options, settings.fastcgi);
        executor = new PhpExecutor({
          pool: engine.pool,
          killChild: engine.killChild,
          onStderr: (x, pid, text) => log("warn", text.trim(), { id: x.id, pid, target: x.target }),
          onEnd: count.ended,
        });
        ctx.find(Gates)?.open("php", children);
      },

      onResolve(x): Awaitable<Execution | Response | void> {
        const found = resolve(x.path, x.query);
        switch (found.kind) {
          case "script": {
            const stream = x.body;
            return stream === null ? execution(found) : receive(x, stream, found);
          }
          case "redirect":
            return new Response(null, {
              status: x.method === "GET" || x.method === "HEAD" ? 301 : 308,
              headers: { location: found.location },
            });
          case "forbidden":
            return answer(403);
          case "not-found":
            return answer(404);
        }
      },

      onResponse(x) {
        if (spooled.size === 0) return;
        spooled.get(x)?.dispose();
        spooled.delete(x);
      },

      async onClose() {
        executor?.close();
        await engine?.close();
      },
    };
  },
}) as AnyPlugin;

export default php;
