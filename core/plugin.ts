/**
 * The plugin contract: plain data in, plain hooks out.
 *
 * A plugin is an object literal. Nothing here exists at run time except `definePlugin` and `token`, so a plugin
 * outside the binary needs only `import type` from this module.
 *
 * @module
 */
import type { Hono } from "hono";
import type { Exchange, Outcome } from "./exchange.ts";
import type { SchemaOutput, StandardSchema } from "./standard_schema.ts";

/** A value, or a promise of it: hooks stay synchronous until one has to wait. */
export type Awaitable<T> = T | Promise<T>;

/** A typed name under which one plugin offers a service and others find it. */
export interface Token<T> {
  /** Name and version, such as `gates@1`. */
  readonly id: string;
  /** Carries the type; never set. */
  readonly "~type"?: T;
}

/**
 * Makes a {@linkcode Token}. Two tokens with the same id are the same service; a changed contract gets the next number.
 *
 * @example
 * ```ts
 * const Clocks = token<{ now(): number }>("clocks@1");
 * // who offers it: provides: [Clocks], and in setup: ctx.provide(Clocks, { now: Date.now })
 * // who uses it:   needs: [Clocks], and in setup: ctx.use(Clocks).now()
 * ```
 */
export function token<T>(id: string): Token<T> {
  return { id };
}

/** The service that a {@linkcode Token} stands for. */
export type ServiceOf<K> = K extends Token<infer T> ? T : never;

/** Leave to run, given by a gate; the core gives it back exactly once, when the execution has ended. */
export interface Permit {
  release(): void;
}

/** What will answer an exchange once every gate has let it in. */
export interface Execution {
  /** The queue the exchange waits in: the name under which the executor opened its gate (`php`, `php:api`). */
  readonly lane: string;
  /**
   * Runs the exchange. Permits are given back when the response has been sent, unless `x.hold()` was called: then
   * the executor calls `x.release()` itself, at the moment its worker is free again.
   */
  run(x: Exchange): Awaitable<Response>;
}

/** Every extension point of the server. How each one runs is told by `kinds` in `hooks.ts`. */
export interface Hooks {
  /** Binds sockets and starts workers. Runs once every plugin is set up; a failure stops the start. */
  onListen(): Awaitable<void>;
  /** Adds routes to the public application. They are matched after every `onRequest` (so after files) and before PHP. */
  onRoutes(app: Hono<PublicEnv>): void;
  /** Adds routes to the admin listener. */
  onAdmin(app: Hono): void;
  /** Wraps the exchange: call `next` to go on, or answer without it. */
  onRequest(x: Exchange, next: () => Awaitable<Response>): Awaitable<Response>;
  /** Says what would answer the exchange, or answers at once when nothing has to run (a redirect, a 404). */
  onResolve(x: Exchange): Awaitable<Execution | Response | void>;
  /** Lets the exchange in (with a permit, or with nothing) or turns it away with a response. */
  onAdmit(x: Exchange, execution: Execution): Awaitable<Permit | Response | void>;
  /** Observes the outcome after the last byte. Synchronous, and its errors are only logged. */
  onResponse(x: Exchange, outcome: Outcome): void;
  /** Stops taking work and lets running work end before `deadline` aborts. */
  onDrain(deadline: AbortSignal): Awaitable<void>;
  /** Frees what `setup` took. Runs in reverse order, whatever failed before. */
  onClose(): Awaitable<void>;
}

/** What a handler of the public Hono application finds in `c.env`. */
export interface PublicEnv {
  readonly Bindings: { readonly exchange: Exchange };
}

/** The name of a hook. */
export type HookName = keyof Hooks;

/** A handler, or a handler that runs before (`pre`) or after (`post`) the plugins without an order. */
export type Ordered<F> = F | { readonly order: "pre" | "post"; readonly handler: F };

/** What `setup` returns: the hooks this plugin has a handler for. */
export type PluginHooks = { readonly [H in HookName]?: Ordered<Hooks[H]> };

/** Writes one line to the server's log. */
export interface Log {
  (level: "debug" | "info" | "warn" | "error", message: string, fields?: Readonly<Record<string, unknown>>): void;
}

/** What `setup` receives. */
export interface Context<C, N, W, P> {
  /** The plugin's name, which is also its table in the configuration. */
  readonly name: string;
  readonly config: C;
  /** The folder of the configuration file: relative paths in `config` start here. */
  readonly baseDir: string;
  /** Carries the plugin's name. */
  readonly log: Log;
  /** A service this plugin listed in `needs`. */
  use<K extends N>(token: K): ServiceOf<K>;
  /** A service this plugin listed in `wants`, if some plugin offers it. */
  find<K extends W>(token: K): ServiceOf<K> | undefined;
  /** Offers a service this plugin listed in `provides`. */
  provide<K extends P>(token: K, service: ServiceOf<K>): void;
}

/** A plugin: what its table may hold, which services it uses and offers, and how it is set up. */
export interface Plugin<
  S extends StandardSchema = StandardSchema,
  N extends Token<unknown> = Token<unknown>,
  W extends Token<unknown> = Token<unknown>,
  P extends Token<unknown> = Token<unknown>,
> {
  /** Also the name of the plugin's table in the configuration file. */
  readonly name: string;
  /** The contract this plugin was written against. */
  readonly api: 1;
  /** Any Standard Schema (zod, valibot, arktype); unknown keys should be errors. */
  readonly config: S;
  /** Services that must exist: their plugins are set up before this one. */
  readonly needs?: readonly N[];
  /** Services used when present: their plugins are set up before this one. */
  readonly wants?: readonly W[];
  /** Services this plugin offers; each has one owner. */
  readonly provides?: readonly P[];
  /** May return its hooks, or nothing. Must not bind or spawn: that is for `onListen`. */
  setup(ctx: Context<SchemaOutput<S>, N, W, P>): Awaitable<PluginHooks | void>;
}

/** A plugin whose type parameters have been forgotten; what the core stores. */
// deno-lint-ignore no-explicit-any -- each plugin's own parameters are checked where it is defined
export type AnyPlugin = Plugin<any, any, any, any>;

/**
 * Returns its argument; exists so that `setup` is typed by the other fields.
 *
 * @example
 * ```ts
 * export default definePlugin({
 *   name: "hello",
 *   api: 1,
 *   config: z.strictObject({ greeting: z.string().default("Hello") }),
 *   setup: (ctx) => ({ onRoutes: (app) => void app.get("/hello", (c) => c.text(ctx.config.greeting)) }),
 * }) as AnyPlugin;
 * ```
 */
export function definePlugin<
  S extends StandardSchema,
  N extends Token<unknown> = never,
  W extends Token<unknown> = never,
  P extends Token<unknown> = never,
>(plugin: Plugin<S, N, W, P>): Plugin<S, N, W, P> {
  return plugin;
}
