import { Hono } from "hono";
import { ScriptSettings } from "./contracts/script_settings.ts";
import { Traffic } from "./contracts/traffic.ts";
import type { CoreError } from "./error.ts";
import { buildTable, series, settle, settleInOrder } from "./hooks.ts";
import type { BaseExchange } from "./http/exchange.ts";
import { Pipeline } from "./pipeline.ts";
import type { AnyPlugin, Awaitable, Log, PublicEnv } from "./plugin.ts";
import { ScriptBoard } from "./script_settings.ts";
import type { Offer } from "./services.ts";
import { setUp } from "./set_up.ts";
import { sortPlugins } from "./sort_plugins.ts";

/** What an application is made of. */
export interface AppOptions {
  readonly plugins: readonly AnyPlugin[];
  /** Each plugin's validated configuration, by plugin name. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly baseDir: string;
  readonly log: Log;
  /** The core's own services, which plugins list in `needs` like any other. */
  readonly offers?: readonly Offer[];
  /** How long one plugin's `setup` may take. */
  readonly setupTimeoutMs?: number;
  /** Ends the start between two plugins, with the signal's reason. */
  readonly stop?: AbortSignal | undefined;
}

/** Every plugin set up and its hooks sorted: what turns exchanges into responses. */
export interface App {
  readonly log: Log;
  readonly inFlight: number;
  /** Set while the server stops: connections are not kept after their response. */
  draining: boolean;
  /** Routes that plugins added to the admin listener. */
  readonly admin: Hono;
  /** Answers one exchange; never throws and never rejects. */
  handle(x: BaseExchange): Awaitable<Response>;
  /** Runs `onListen` everywhere. */
  listen(): Promise<void>;
  /** Runs `onDrain` everywhere, at once; `deadline` aborts when patience ends. */
  drain(deadline: AbortSignal): Promise<readonly CoreError[]>;
  /** Runs `onClose` everywhere, in reverse order. */
  close(): Promise<readonly CoreError[]>;
}

/** Sets every plugin up, in the order of their needs, and freezes the hook table. */
export async function createApp(options: AppOptions): Promise<App> {
  const { log } = options;
  let pipeline: Pipeline | undefined;
  const traffic: Traffic = {
    get inFlight() {
      return pipeline?.inFlight ?? 0;
    },
  };
  const offers: readonly Offer[] = [
    ...(options.offers ?? []),
    [Traffic, traffic],
    [ScriptSettings, new ScriptBoard(log)],
  ];
  const plugins = sortPlugins(options.plugins, offers.map(([token]) => token.id));
  const ready = await setUp(plugins, { ...options, offers });
  const table = buildTable(ready);
  const reversed = buildTable([...ready].reverse());
  const close = () => settleInOrder("onClose", reversed.onClose, []);

  const site = new Hono<PublicEnv>(), admin = new Hono();
  try {
    await series("onRoutes", table.onRoutes, site);
    await series("onAdmin", table.onAdmin, admin);
  } catch (cause) {
    await close();
    throw cause;
  }

  const running = pipeline = new Pipeline(table, site, log);
  return {
    log,
    admin,
    get inFlight() {
      return running.inFlight;
    },
    get draining() {
      return running.draining;
    },
    set draining(now) {
      running.draining = now;
    },
    handle: (x) => running.handle(x),
    listen: () => series("onListen", table.onListen, undefined),
    drain: (deadline) => settle("onDrain", table.onDrain, [deadline]),
    close,
  };
}
