import { CoreError } from "./error.ts";
import { buildTable, settleInOrder } from "./hooks.ts";
import type { AnyPlugin, Log, PluginHooks } from "./plugin.ts";
import { type Offer, Services } from "./services.ts";

/** A plugin that has been set up. */
export interface ReadyPlugin {
  readonly name: string;
  readonly hooks: PluginHooks;
}

export interface SetUpOptions {
  /** Each plugin's validated configuration, by plugin name. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly baseDir: string;
  readonly log: Log;
  /** The core's own services, which plugins list in `needs` like any other. */
  readonly offers: readonly Offer[];
  /** How long one plugin's `setup` may take; 10 s when absent. */
  readonly setupTimeoutMs?: number | undefined;
  /** Ends it between two plugins, with the signal's reason. */
  readonly stop?: AbortSignal | undefined;
}

/** Sets plugins up one after another; when one fails, those before it are closed. */
export async function setUp(plugins: readonly AnyPlugin[], options: SetUpOptions): Promise<readonly ReadyPlugin[]> {
  const { config, baseDir, log, setupTimeoutMs = 10_000 } = options;
  const services = new Services(options.offers);
  const ready: ReadyPlugin[] = [];
  try {
    for (const plugin of plugins) {
      options.stop?.throwIfAborted();
      const { name } = plugin;
      const own: Log = (level, message, fields) => log(level, message, { plugin: name, ...fields });
      const context = { name, config: config[name], baseDir, log: own, ...services.of(plugin) };
      const hooks = await within(setupTimeoutMs, name, async () => await plugin.setup(context));
      services.checkProvided(plugin);
      const done = { name, hooks: hooks ?? {} };
      buildTable([done]);
      ready.push(done);
    }
    return ready;
  } catch (cause) {
    await settleInOrder("onClose", buildTable(ready.reverse()).onClose, []);
    throw cause;
  }
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
