import { Hono } from "hono";
import { ScriptSettings } from "./contracts/script_settings.ts";
import { Traffic } from "./contracts/traffic.ts";
import { Deadlines } from "./deadlines.ts";
import { CoreError } from "./error.ts";
import type { Exchange, Outcome } from "./exchange.ts";
import {
  attempt,
  blame,
  buildTable,
  first,
  type HookTable,
  series,
  settle,
  settleInOrder,
  thenable,
  wrap,
} from "./hooks.ts";
import { answer, refuse } from "./http/answers.ts";
import type { BaseExchange } from "./http/exchange.ts";
import type { AnyPlugin, Awaitable, Execution, Log, Permit, PluginHooks, PublicEnv, Token } from "./plugin.ts";
import { ScriptBoard } from "./script_settings.ts";
import { sortPlugins } from "./sort_plugins.ts";

/** A service the core itself offers. */
export type Offer = readonly [token: Token<unknown>, service: unknown];

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

/** How long after its deadline (ms) an exchange is answered for those who should have. */
const lateMs = 500;

/** Sets every plugin up, in the order of their needs, and freezes the hook table. */
export async function createApp(options: AppOptions): Promise<App> {
  const { log } = options;
  let inFlight = 0, draining = false;
  const traffic: Traffic = {
    get inFlight() {
      return inFlight;
    },
  };
  const offers: readonly Offer[] = [
    ...(options.offers ?? []),
    [Traffic, traffic],
    [ScriptSettings, new ScriptBoard(log)],
  ];
  const plugins = sortPlugins(options.plugins, offers.map(([t]) => t.id));
  const ready = await setUp(plugins, { ...options, offers });
  const table = buildTable(ready);
  const reversed = buildTable([...ready].reverse());

  const site = new Hono<PublicEnv>(), admin = new Hono();
  try {
    await series("onRoutes", table.onRoutes, site);
    await series("onAdmin", table.onAdmin, admin);
  } catch (cause) {
    await settleInOrder("onClose", reversed.onClose, []);
    throw cause;
  }

  const inner = runner(table);
  const respond = wrap(table.onRequest, site.routes.length === 0 ? inner : behind(site, inner));

  const fail = (x: BaseExchange, error: unknown): Response => {
    const status = error instanceof CoreError ? error.status ?? 500 : 500;
    if (status >= 500) log("error", "request failed", { id: x.id, method: x.method, target: x.target, error });
    else log("debug", "request refused", { id: x.id, target: x.target, error });
    const response = status >= 500 ? answer(status) : refuse(status);
    return finish(x, response, error);
  };
  const finish = (x: BaseExchange, response: Response, error?: unknown): Response => {
    const out = x.stamp(response);
    if (draining) out.headers.set("connection", "close");
    if (x.sent === undefined) end(x, response.status, error);
    else x.sent.then(() => end(x, response.status, error), (cause) => end(x, response.status, cause));
    return x.seal(out);
  };
  const end = (x: BaseExchange, status: number, error: unknown): void => {
    inFlight--;
    if (!x.held) x.release();
    const outcome: Outcome = { status, ms: performance.now() - x.started, bytes: x.bytes, error };
    for (const e of table.onResponse) {
      try {
        e.run(x, outcome);
      } catch (cause) {
        log("warn", "onResponse failed", { plugin: e.plugin, error: cause });
      }
    }
  };

  const deadlines = new Deadlines<BaseExchange>(lateMs);
  /** Answers 504 when nothing has by the deadline; permits stay out until what runs has ended. */
  const inTime = (x: BaseExchange, later: Promise<Response>): Promise<Response> =>
    new Promise((resolve) => {
      deadlines.add(x, () => {
        const { held } = x;
        x.hold();
        const message = `No answer within ${Math.round(x.deadline - x.started)} ms`;
        resolve(fail(x, new CoreError("REQUEST_TIMEOUT", message, { status: 504 })));
        const over = () => {
          if (!held) x.release();
        };
        later.then((response) => (over(), response.body?.cancel().catch(() => {})), over);
      });
      later.then(
        (response) => deadlines.delete(x) && resolve(finish(x, response)),
        (error) => deadlines.delete(x) && resolve(fail(x, error)),
      );
    });

  return {
    log,
    admin,
    get inFlight() {
      return inFlight;
    },
    get draining() {
      return draining;
    },
    set draining(now) {
      draining = now;
    },
    handle(x) {
      inFlight++;
      try {
        const r = x.problem === 0 ? respond(x) : refuse(x.problem);
        if (!thenable(r)) return finish(x, r as Response);
        const later = r as Promise<Response>;
        // Who holds the permits keeps to the deadline too.
        return x.held ? later.then((response) => finish(x, response), (error) => fail(x, error)) : inTime(x, later);
      } catch (error) {
        return fail(x, error);
      }
    },
    listen: () => series("onListen", table.onListen, undefined),
    drain: (deadline) => settle("onDrain", table.onDrain, [deadline]),
    close: () => settleInOrder("onClose", reversed.onClose, []),
  };
}

/** Sets plugins up one after another; when one fails, those before it are closed. */
async function setUp(
  plugins: readonly AnyPlugin[],
  options: AppOptions,
): Promise<{ name: string; hooks: PluginHooks }[]> {
  const { log, setupTimeoutMs = 10_000 } = options;
  const services = new Map<string, unknown>((options.offers ?? []).map(([t, service]) => [t.id, service]));
  const ready: { name: string; hooks: PluginHooks }[] = [];
  try {
    for (const plugin of plugins) {
      const { name } = plugin;
      const ctx = {
        name,
        config: options.config[name],
        baseDir: options.baseDir,
        log: ((level, message, fields) => log(level, message, { plugin: name, ...fields })) satisfies Log,
        // deno-lint-ignore no-explicit-any -- a token carries the type, the map cannot
        use: (t: Token<unknown>): any => services.get(t.id),
        // deno-lint-ignore no-explicit-any -- as above
        find: (t: Token<unknown>): any => services.get(t.id),
        provide: (t: Token<unknown>, service: unknown) => void services.set(t.id, service),
      };
      const hooks = await within(setupTimeoutMs, name, async () => await plugin.setup(ctx));
      const missing = (plugin.provides ?? []).find((t: Token<unknown>) => !services.has(t.id));
      if (missing !== undefined) {
        throw new CoreError("SERVICE_MISSING", `${name} did not provide "${missing.id}" in setup`, { plugin: name });
      }
      const own = { name, hooks: hooks ?? {} };
      buildTable([own]);
      ready.push(own);
    }
    return ready;
  } catch (cause) {
    await settleInOrder("onClose", buildTable(ready.reverse()).onClose, []);
    throw cause;
  }
}

/** Says what would run, asks every gate, runs it. Without a promise as long as no plugin gives one. */
function runner(table: HookTable): (x: Exchange) => Awaitable<Response> {
  const { onResolve, onAdmit } = table;
  const execute = (x: BaseExchange, found: Execution | Response | undefined): Awaitable<Response> => {
    if (found === undefined) return answer(404);
    return found instanceof Response ? found : admit(x, found, 0);
  };
  const admit = (x: BaseExchange, execution: Execution, from: number): Awaitable<Response> => {
    for (let i = from; i < onAdmit.length; i++) {
      const { plugin, run } = onAdmit[i]!;
      const verdict = attempt(plugin, "onAdmit", run, x, execution);
      if (thenable(verdict)) {
        return (verdict as Promise<Permit | Response | void>).then(
          (settled) => keep(x, settled) ?? admit(x, execution, i + 1),
          (cause) => blame(plugin, "onAdmit", cause),
        );
      }
      const refusal = keep(x, verdict as Permit | Response | void);
      if (refusal !== undefined) return refusal;
    }
    return execution.run(x);
  };
  return (x) => {
    const found = first("onResolve", onResolve, x);
    return thenable(found)
      ? (found as Promise<Execution | Response | undefined>).then((settled) => execute(x as BaseExchange, settled))
      : execute(x as BaseExchange, found as Execution | Response | undefined);
  };
}

/** Keeps a permit for the exchange; hands a refusal on. */
function keep(x: BaseExchange, verdict: Permit | Response | void): Response | undefined {
  if (verdict instanceof Response) return verdict;
  if (verdict) x.keep(verdict);
  return undefined;
}

/** Puts the plugins' routes in front: what no route matches goes on to `inner`. */
function behind(
  site: Hono<PublicEnv>,
  inner: (x: Exchange) => Awaitable<Response>,
): (x: Exchange) => Awaitable<Response> {
  site.notFound((c) => {
    c.env.exchange.handler = "core";
    return inner(c.env.exchange);
  });
  site.onError((error) => {
    throw error;
  });
  return (x) => {
    x.handler = "route";
    return site.fetch(canonicalRequest(x), { exchange: x });
  };
}

/** Routers match on `request.url`: it must hold the canonical path, or a route could be passed by spelling it oddly. */
function canonicalRequest(x: Exchange): Request {
  const { request } = x;
  const path = encodeURI(x.path).replace(/[?#]/g, encodeURIComponent);
  if (x.target === (x.query === "" ? path : `${path}?${x.query}`)) return request;
  return new Request(`${x.scheme}://${x.host || "localhost"}${path}${x.query === "" ? "" : `?${x.query}`}`, request);
}

async function within<T>(ms: number, plugin: string, run: () => Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const message = `${plugin}.setup took over ${ms} ms`;
  const timer = setTimeout(() => reject(new CoreError("SETUP_TIMEOUT", message, { plugin, hook: "setup" })), ms);
  try {
    return await Promise.race([run(), promise]);
  } catch (cause) {
    throw CoreError.at(plugin, "setup", cause);
  } finally {
    clearTimeout(timer);
  }
}
