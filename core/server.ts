import { openSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { createAccessLog } from "./access_log.ts";
import { createAdmin, type Identity } from "./admin.ts";
import { type App, createApp } from "./app.ts";
import { Health } from "./contracts/health.ts";
import { Peers } from "./contracts/peers.ts";
import { Site } from "./contracts/site.ts";
import { CoreError } from "./error.ts";
import { HealthBoard } from "./health.ts";
import { type ReloadResult, Reloads } from "./contracts/reloads.ts";
import { ReloadBoard } from "./reload_board.ts";
import { type Address, parseAddress } from "./http/address.ts";
import type { Intake } from "./http/exchange.ts";
import { type Bound, listen } from "./http/listen.ts";
import { TrustedProxies } from "./http/proxies.ts";
import { fileSink, type LineSink } from "./line_sink.ts";
import { createLog } from "./log.ts";
import { type AnyPlugin, definePlugin } from "./plugin.ts";
import type { Offer } from "./services.ts";
import type { AdminSettings, LogSettings, ServerSettings } from "./settings.ts";
import { anything } from "./standard_schema.ts";
import { runtime, version } from "./version.ts";

/** Everything a server is made of; what `fairlead.toml` says, once it has been checked. */
export interface ServerOptions {
  readonly server: ServerSettings;
  readonly admin: AdminSettings;
  readonly log: LogSettings;
  readonly plugins: readonly AnyPlugin[];
  /** Each plugin's validated configuration, by plugin name. */
  readonly config: Readonly<Record<string, unknown>>;
  /** Where relative paths start. */
  readonly baseDir: string;
  readonly configHash: string;
}

/** A server that is up. */
export interface RunningServer {
  readonly addresses: readonly Address[];
  readonly admin: Address | undefined;
  readonly app: App;
  /** Has every part take what is new; see {@linkcode Reloads}. */
  reload(): Promise<ReloadResult>;
  /**
   * Turns readiness off, stops accepting, lets running requests end within `server.drain` and frees everything.
   * Aborting `now` ends the patience at once. Returns what failed; an empty list is a clean end. Called again, it waits
   * for the same end.
   */
  stop(now?: AbortSignal): Promise<readonly CoreError[]>;
}

/** Sets up, listens and becomes ready; on failure whatever was opened is closed again. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { server, baseDir } = options;
  const sinks = openSinks(options.log, baseDir);
  const log = createLog({ level: options.log.level, format: options.log.format, sink: sinks.log });
  const health = new HealthBoard();
  const reloads = new ReloadBoard(log);
  const identity: Identity = {
    pid: process.pid,
    executable: process.execPath,
    version,
    runtime: runtime(),
    config_hash: options.configHash,
    started_at: new Date().toISOString(),
  };
  const offers: Offer[] = [
    [Health, health],
    [Reloads, reloads],
    [Peers, new TrustedProxies(server.trusted_proxies) satisfies Peers],
    [
      Site,
      {
        baseDir,
        publicRoot: server.public === undefined ? undefined : resolve(baseDir, server.public),
        timeoutMs: server.timeout,
        maxBody: server.max_body,
        software: `Fairlead/${version}`,
      } satisfies Site,
    ],
  ];
  const access = sinks.access === undefined ? [] : [accessPlugin(options.log.format, sinks.access)];

  let app: App | undefined;
  const bounds: Bound[] = [];
  let admin: Bound | undefined;
  const common = { maxHeader: server.max_header, keepAliveMs: server.keep_alive, headerMs: server.header_timeout };
  const undo = async () => {
    await Promise.all([...bounds, ...(admin === undefined ? [] : [admin])].map((b) => b.stop(true)));
    const failed = await app?.close() ?? [];
    await sinks.flush();
    return failed;
  };
  try {
    const intake: Intake = {
      proxies: new TrustedProxies(server.trusted_proxies, server.trusted_headers),
      timeoutMs: server.timeout,
      maxBody: server.max_body,
      idleMs: server.body_timeout,
    };
    app = await createApp({ ...options, plugins: [...options.plugins, ...access], log, offers });
    const tls = server.tls === undefined ? undefined : readTls(server.tls, baseDir);
    if (options.admin.listen !== "") {
      const routes = createAdmin(health, reloads, identity, app.admin, log);
      const at = parseAddress(options.admin.listen);
      const plain = { ...intake, proxies: new TrustedProxies([]) };
      admin = await listen({ ...common, at, intake: plain, tls: undefined, handle: routes });
    }
    await app.listen();
    for (const text of server.listen) {
      const at = parseAddress(text);
      bounds.push(
        await listen({ ...common, at, intake, tls: at.kind === "tcp" ? tls : undefined, handle: app.handle }),
      );
    }
  } catch (error) {
    await undo();
    throw error;
  }
  health.hold = undefined;

  const running = app, patience = new AbortController(), giveUp = () => patience.abort();
  const late = new Promise<readonly CoreError[]>((resolve) => {
    patience.signal.addEventListener("abort", () => resolve([]));
  });
  const stop = async () => {
    health.hold = "draining";
    running.draining = true;
    log("info", "draining", { in_flight: running.inFlight, patience_ms: server.drain });
    const timer = setTimeout(giveUp, server.drain);
    const ended = Promise.all([running.drain(patience.signal), ...bounds.map((b) => b.stop(false))]);
    const failed = [...await Promise.race([ended.then(([errors]) => errors), late])];
    clearTimeout(timer);
    if (running.inFlight > 0) {
      failed.push(
        new CoreError("DRAIN_TIMEOUT", `${running.inFlight} requests were cut off: they had not ended in time`),
      );
    }
    for (const error of failed) log("error", "drain failed", { error });
    failed.push(...await undo());
    return failed;
  };
  let stopped: Promise<readonly CoreError[]> | undefined;

  return {
    addresses: bounds.map((b) => b.at),
    admin: admin?.at,
    app,
    reload: () => reloads.run(),
    stop(now) {
      now?.addEventListener("abort", giveUp, { once: true });
      if (now?.aborted) giveUp();
      return stopped ??= stop();
    },
  };
}

/** The access log as a plugin: it sees every exchange, after all others. */
function accessPlugin(format: "text" | "json", sink: LineSink): AnyPlugin {
  return definePlugin({
    name: "access",
    api: 1,
    config: anything,
    setup: () => ({ onResponse: { order: "post", handler: createAccessLog(format, sink) } }),
  });
}

function openSinks(settings: LogSettings, baseDir: string) {
  const log = fileSink(2);
  const { access } = settings;
  const file = (path: string) => {
    try {
      return openSync(path, "a", 0o640);
    } catch (cause) {
      throw new CoreError("LOG_UNWRITABLE", `Cannot open the access log ${path}: ${(cause as Error).message}`, {
        cause,
      });
    }
  };
  const accessSink = access === "off"
    ? undefined
    : access === "stderr"
    ? log
    : fileSink(access === "stdout" ? 1 : file(resolve(baseDir, access)));
  return {
    log,
    access: accessSink,
    flush: () => Promise.all([log.flush(), accessSink?.flush()]),
  };
}

function readTls(tls: { readonly cert: string; readonly key: string }, baseDir: string) {
  const read = (what: "cert" | "key") => {
    const path = resolve(baseDir, tls[what]);
    try {
      return readFileSync(path, "utf8");
    } catch (cause) {
      throw new CoreError("TLS_UNREADABLE", `Cannot read server.tls.${what}: ${(cause as Error).message}`, { cause });
    }
  };
  return { cert: read("cert"), key: read("key") };
}
