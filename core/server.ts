import { createAccessLog } from "./access_log.ts";
import { createAdmin, type Identity } from "./admin.ts";
import { adminGuard } from "./admin_guard.ts";
import { type App, createApp } from "./app.ts";
import { Health } from "./contracts/health.ts";
import { Peers } from "./contracts/peers.ts";
import { Places } from "./contracts/places.ts";
import { Site } from "./contracts/site.ts";
import { CoreError } from "./error.ts";
import { Handover } from "./handover/handover.ts";
import { OwnPlaces } from "./handover/places.ts";
import type { Predecessor } from "./handover/predecessor.ts";
import { HealthBoard } from "./health.ts";
import { type ReloadResult, Reloads } from "./contracts/reloads.ts";
import { ReloadBoard } from "./reload_board.ts";
import { type Address, parseAddress } from "./http/address.ts";
import type { BaseExchange, Intake } from "./http/exchange.ts";
import { type Bound, listen, type ListenOptions } from "./http/listen.ts";
import { TrustedProxies } from "./http/proxies.ts";
import { readTls } from "./http/tls.ts";
import { VirtualHosts } from "./http/virtual_hosts.ts";
import type { LineSink } from "./line_sink.ts";
import { createLog } from "./log.ts";
import { openSinks } from "./open_sinks.ts";
import { type AnyPlugin, definePlugin, type Log } from "./plugin.ts";
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
  /** SHA-256 of the effective configuration, for `/-/whoami`. */
  readonly configHash: string;
}

/** A server that is up. */
export interface RunningServer {
  /** Where it listens, with the ports that the system chose. */
  readonly addresses: readonly Address[];
  /** Undefined where `admin.listen` is "". */
  readonly admin: Address | undefined;
  readonly app: App;
  /** Has every part take what is new; see {@linkcode Reloads}. */
  reload(): Promise<ReloadResult>;
  /**
   * Starts this program anew, as it is on disk by now, and resolves with its pid when it serves in place of this one; see
   * {@linkcode Handover.restart}. The program must give {@linkcode startServer} what {@linkcode Predecessor.meet} finds.
   */
  restart(): Promise<number>;
  /** Resolves when another server has taken over: `stop` then ends what runs, and what waits, as it would end by itself. */
  readonly replaced: Promise<void>;
  /**
   * Turns readiness off, stops accepting, lets running requests end within `server.drain` and frees everything.
   * Aborting `now` ends the patience at once. Returns what failed; an empty list is a clean end. Called again, it waits
   * for the same end.
   */
  stop(now?: AbortSignal): Promise<readonly CoreError[]>;
}

/**
 * Sets up, listens and becomes ready; on failure whatever was opened is closed again. So it is when `stop` is aborted meanwhile:
 * then it fails with the signal's reason.
 *
 * @param predecessor the server to replace: this one takes its addresses when every part is ready, and tells it
 *
 * @throws CoreError whose code names what was in the way, such as `ADDRESS_TAKEN` or `PLUGIN_FAILED`
 *
 * @example
 * ```ts
 * const { options } = await prepare("fairlead.toml");
 * const server = await startServer(options);
 * console.log(server.addresses.map(showAddress));
 * process.once("SIGTERM", () => void server.stop());
 * ```
 */
export async function startServer(
  options: ServerOptions,
  stop?: AbortSignal,
  predecessor?: Predecessor,
): Promise<RunningServer> {
  const { server, baseDir } = options;
  const sinks = openSinks(options.log, baseDir);
  const log = createLog({ level: options.log.level, format: options.log.format, sink: sinks.log });
  const identity = identityOf(options);
  const health = new HealthBoard();
  const reloads = new ReloadBoard(log);
  const places = new OwnPlaces(predecessor?.held);
  const handover = new Handover({ places, health, log, predecessor });
  const access = sinks.access === undefined ? [] : [accessPlugin(options.log.format, sinks.access)];

  let app: App | undefined, admin: Bound | undefined;
  const bounds: Bound[] = [];
  const undo = async () => {
    await Promise.all([...bounds, ...(admin === undefined ? [] : [admin])].map((b) => b.stop(true)));
    const failed = await app?.close() ?? [];
    await sinks.flush();
    return failed;
  };
  try {
    const virtualHosts = new VirtualHosts(server.public, server.hosts ?? {}, baseDir);
    const offers: readonly Offer[] = [...offersOf(options, virtualHosts, health, reloads), [Places, places]];
    app = await createApp({ ...options, plugins: [...options.plugins, ...access], log, offers, stop });
    const common = { maxHeader: server.max_header, keepAliveMs: server.keep_alive, headerMs: server.header_timeout };
    const open = async (own: Pick<ListenOptions, "at" | "intake" | "tls" | "http2" | "handle">) => {
      const bound = await listen({ ...common, places, ...own });
      places.onPassed(() => void bound.stop(false));
      return bound;
    };
    const intake: Intake = {
      proxies: new TrustedProxies(server.trusted_proxies, server.trusted_headers),
      timeoutMs: server.timeout,
      maxBody: server.max_body,
      idleMs: server.body_timeout,
      virtualHosts,
    };
    const tls = readTls(server, baseDir);
    const openAdmin = async () => {
      if (options.admin.listen === "") return undefined;
      const at = parseAddress(options.admin.listen);
      const guard = await adminGuard(at, options.admin.hosts);
      const restart = () => handover.restart();
      const ask = createAdmin({ health, reloads, identity, plugins: app!.admin, restart, guard, log });
      const handle = async (x: BaseExchange) => {
        const answer = await ask(x);
        // Who asks next shall ask the one that serves by then.
        if (handover.passed) answer.headers.set("connection", "close");
        return answer;
      };
      const plain = { ...intake, proxies: new TrustedProxies([]) };
      return await open({ at, intake: plain, tls: undefined, http2: false, handle });
    };
    // Before the plugins listen, for it to say that they do not yet; unless there is one that is asked in the meantime.
    if (predecessor === undefined) admin = await openAdmin();
    stop?.throwIfAborted();
    await app.listen();
    if (predecessor !== undefined) {
      await predecessor.whenReady(health, stop);
      // Whoever asks from here on means the address, and that is served.
      health.hold = undefined;
      admin = await openAdmin();
    }
    if (server.http2 === "all" && !("Bun" in globalThis)) {
      log("warn", 'server.http2 = "all" has no effect on Deno: HTTP/2 is spoken on Bun and by the binary');
    }
    for (const [i, text] of [...server.listen, ...server.listen_plain ?? []].entries()) {
      const at = parseAddress(text);
      const secured = at.kind === "tcp" && i < server.listen.length ? tls : undefined;
      const http2 = at.kind === "tcp" && (server.http2 === "all" || (server.http2 !== "off" && secured !== undefined));
      bounds.push(await open({ at, intake, tls: secured, http2, handle: app.handle }));
    }
    stop?.throwIfAborted();
  } catch (error) {
    await predecessor?.failed(error);
    // What came here meanwhile came for the other one.
    if (predecessor !== undefined) await app?.drain(AbortSignal.timeout(server.drain));
    await undo();
    throw error;
  }
  health.hold = undefined;
  predecessor?.serving();

  const running = app;
  // Who asks for readiness means the address: where another has taken it over, it is served.
  const stopping = () => handover.passed || (health.hold = "draining");
  return {
    addresses: bounds.map((b) => b.at),
    admin: admin?.at,
    app,
    reload: () => reloads.run(),
    restart: () => handover.restart(),
    replaced: handover.replaced,
    stop: stopOf({ app: running, bounds, handover, log, patienceMs: server.drain, stopping, undo }),
  };
}

interface Stoppable {
  readonly app: App;
  readonly bounds: readonly Bound[];
  readonly handover: Handover;
  readonly log: Log;
  /** How long running requests may take to end. */
  readonly patienceMs: number;
  /** Told when it begins. */
  stopping(): unknown;
  /** Frees everything; returns what failed. */
  undo(): Promise<readonly CoreError[]>;
}

/** Makes {@linkcode RunningServer.stop}. */
function stopOf({ app, bounds, handover, log, patienceMs, stopping, undo }: Stoppable): RunningServer["stop"] {
  const patience = new AbortController(), giveUp = () => patience.abort();
  const late = new Promise<readonly CoreError[]>((resolve) => {
    patience.signal.addEventListener("abort", () => resolve([]));
  });
  const stop = async () => {
    stopping();
    app.draining = true;
    log("info", "draining", { in_flight: app.inFlight, patience_ms: patienceMs });
    const timer = setTimeout(giveUp, patienceMs);
    handover.giveUp();
    const drain = async () => {
      // Whoever waits in line of a server that was replaced has nowhere else to go.
      if (handover.passed) await handover.leave(() => app.inFlight, patience.signal);
      const [errors] = await Promise.all([app.drain(patience.signal), ...bounds.map((b) => b.stop(false))]);
      return errors;
    };
    const failed = [...await Promise.race([drain(), late])];
    clearTimeout(timer);
    if (app.inFlight > 0) {
      const message = `${app.inFlight} requests were cut off: they had not ended in time`;
      failed.push(new CoreError("DRAIN_TIMEOUT", message));
    }
    for (const error of failed) log("error", "drain failed", { error });
    failed.push(...await undo());
    return failed;
  };
  let stopped: Promise<readonly CoreError[]> | undefined;
  return (now) => {
    now?.addEventListener("abort", giveUp, { once: true });
    if (now?.aborted) giveUp();
    return stopped ??= stop();
  };
}

function identityOf({ configHash }: ServerOptions): Identity {
  return {
    pid: process.pid,
    executable: process.execPath,
    version,
    runtime: runtime(),
    config_hash: configHash,
    started_at: new Date().toISOString(),
  };
}

/** The core's own services. */
function offersOf(
  { server, baseDir }: ServerOptions,
  { all: virtualHosts }: VirtualHosts,
  health: Health,
  reloads: Reloads,
): readonly Offer[] {
  const site: Site = {
    baseDir,
    virtualHosts,
    timeoutMs: server.timeout,
    maxBody: server.max_body,
    software: `Fairlead/${version}`,
  };
  const peers: Peers = new TrustedProxies(server.trusted_proxies);
  return [[Health, health], [Reloads, reloads], [Peers, peers], [Site, site]];
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
