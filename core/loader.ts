import { createRequire } from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { CoreError } from "./error.ts";
import type { AnyPlugin } from "./plugin.ts";

/**
 * Loads a third-party plugin: a file (`./geo.ts`, relative to the configuration file) or a package (`npm:name`, found
 * from the configuration file's folder). The table's name becomes the plugin's name, so one plugin can be used twice.
 *
 * @throws PLUGIN_NOT_LOADED when the module cannot be imported, PLUGIN_INVALID when its default export is no plugin
 */
export async function loadPlugin(name: string, use: string, baseDir: string): Promise<AnyPlugin> {
  let module: { readonly default?: unknown };
  try {
    module = await import(locate(use, baseDir));
  } catch (cause) {
    const text = cause instanceof Error ? cause.message : String(cause);
    throw new CoreError("PLUGIN_NOT_LOADED", `Cannot load plugins.${name} from "${use}": ${text}`, {
      plugin: name,
      cause,
    });
  }
  const plugin = module.default as Partial<AnyPlugin> | undefined;
  if (typeof plugin?.setup !== "function" || typeof plugin.config?.["~standard"]?.validate !== "function") {
    throw new CoreError(
      "PLUGIN_INVALID",
      `plugins.${name} ("${use}") is not a plugin: its default export must have api, config (a schema) and setup`,
      { plugin: name },
    );
  }
  return { ...plugin as AnyPlugin, name };
}

function locate(use: string, baseDir: string): string {
  if (!use.startsWith("npm:")) return pathToFileURL(resolve(baseDir, use)).href;
  const bare = use.slice(4).replace(/(?<=.)@[^/]*$/, ""), from = resolve(baseDir, "fairlead.toml");
  try {
    return pathToFileURL(createRequire(from).resolve(bare)).href;
  } catch (cause) {
    // A package may be for `import` alone. Bun resolves that from a place of our choice; Deno among its own packages only.
    if ("Deno" in globalThis) return use;
    const { resolve: find } = import.meta as unknown as { resolve(specifier: string, parent: string): string };
    try {
      return find(bare, pathToFileURL(from).href);
    } catch {
      throw cause;
    }
  }
}
