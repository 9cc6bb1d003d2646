import { Hono } from "hono";
import { Exposition } from "../../core/contracts/exposition.ts";
import type { Health } from "../../core/contracts/health.ts";
import { Meter } from "../../core/contracts/meter.ts";
import { Traffic } from "../../core/contracts/traffic.ts";
import type { Exchange, Outcome } from "../../core/exchange.ts";
import type { HookName, Hooks, PluginHooks } from "../../core/plugin.ts";
import type { StandardSchema } from "../../core/standard_schema.ts";
import plugin from "../../plugins/metrics/plugin.ts";

/** What the metrics read of an exchange; anything else is an error. */
export function exchange(fields: Partial<Pick<Exchange, "method" | "handler">> = {}): Exchange {
  return new Proxy({ method: "GET", handler: "static", ...fields } as Exchange, {
    get(target, key, receiver) {
      if (!(key in target)) throw new Error(`${String(key)} is not for metrics`);
      return Reflect.get(target, key, receiver);
    },
  });
}

export function outcome(fields: Partial<Outcome> = {}): Outcome {
  return { status: 200, ms: 1, bytes: -1, error: undefined, ...fields };
}

/** A hook's handler, whatever its order. */
function handler<H extends HookName>(hooks: PluginHooks, name: H): Hooks[H] {
  const hook = hooks[name];
  if (hook === undefined) throw new Error(`no ${name}`);
  return (typeof hook === "function" ? hook : (hook as { handler: Hooks[H] }).handler) as Hooks[H];
}

/** A plugin that has been set up, and its hooks. */
export interface Loaded {
  readonly hooks: PluginHooks;
  readonly meter: Meter;
  readonly admin: Hono;
  readonly logged: readonly unknown[];
  readonly onResponse: Hooks["onResponse"];
  readonly onListen: Hooks["onListen"];
  readonly onClose: Hooks["onClose"];
}

/** The plugin, set up as the core does it, with its config parsed by its own schema. */
export async function load(
  config: unknown = {},
  { traffic, health }: { readonly traffic?: Traffic; readonly health?: Health } = {},
): Promise<Loaded> {
  const schema = plugin.config as StandardSchema;
  const parsed = await schema["~standard"].validate(config);
  if (parsed.issues) throw new Error(parsed.issues.map((issue) => issue.message).join("; "));
  let meter: Meter | undefined;
  const logged: unknown[] = [];
  const hooks = await plugin.setup({
    name: "metrics",
    config: parsed.value,
    baseDir: "/",
    log: (...line) => void logged.push(line),
    use: () => undefined as never,
    find: (token) => (token.id === Traffic.id ? traffic : health) as never,
    provide(token, service) {
      if (token.id === Exposition.id) return;
      if (token.id !== Meter.id) throw new Error(`provides ${token.id}`);
      meter = service as Meter;
    },
  });
  if (!hooks || meter === undefined) throw new Error("no hooks, or no meter");
  const admin = new Hono();
  handler(hooks, "onAdmin")(admin);
  return {
    hooks,
    meter,
    admin,
    logged,
    onResponse: handler(hooks, "onResponse"),
    onListen: handler(hooks, "onListen"),
    onClose: handler(hooks, "onClose"),
  };
}
