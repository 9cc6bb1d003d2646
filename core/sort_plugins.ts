import { CoreError } from "./error.ts";
import type { AnyPlugin } from "./plugin.ts";

/**
 * Orders plugins so that a service is set up before those who ask for it; ties keep the given order.
 *
 * @param offered ids of the services the core itself provides
 * @throws PLUGIN_API, PLUGIN_TAKEN, SERVICE_TAKEN, SERVICE_MISSING, PLUGIN_CYCLE, each naming the plugins
 */
export function sortPlugins(plugins: readonly AnyPlugin[], offered: readonly string[] = []): AnyPlugin[] {
  checkContracts(plugins);
  const owners = ownersOf(plugins, offered);
  const sorted: AnyPlugin[] = [], state = new Map<AnyPlugin, "open" | "done">();
  const visit = (plugin: AnyPlugin, trail: readonly string[]): void => {
    const { name, needs = [], wants = [] } = plugin;
    if (state.get(plugin) === "done") return;
    const path = [...trail, name];
    if (state.get(plugin) === "open") {
      throw new CoreError("PLUGIN_CYCLE", `Plugins ask for each other's services in a circle: ${path.join(" -> ")}`);
    }
    state.set(plugin, "open");
    for (const { id } of needs) {
      if (owners.has(id) || offered.includes(id)) continue;
      throw new CoreError("SERVICE_MISSING", `${name} needs "${id}", and no loaded plugin provides it`, {
        plugin: name,
      });
    }
    for (const { id } of [...needs, ...wants]) {
      const before = owners.get(id);
      if (before !== undefined) visit(before, path);
    }
    state.set(plugin, "done");
    sorted.push(plugin);
  };
  for (const plugin of plugins) visit(plugin, []);
  return sorted;
}

function checkContracts(plugins: readonly AnyPlugin[]): void {
  const names = new Set<string>();
  for (const { name, api } of plugins) {
    if (api !== 1) {
      const message = `${name} was written for contract ${api}, this server has contract 1`;
      throw new CoreError("PLUGIN_API", message, { plugin: name });
    }
    if (names.has(name)) {
      const message = `Two plugins are named ${name}; expected a name of its own for each`;
      throw new CoreError("PLUGIN_TAKEN", message, { plugin: name });
    }
    names.add(name);
  }
}

/** Who provides which service, by its id. */
function ownersOf(plugins: readonly AnyPlugin[], offered: readonly string[]): ReadonlyMap<string, AnyPlugin> {
  const owners = new Map<string, AnyPlugin>();
  for (const plugin of plugins) {
    for (const { id } of plugin.provides ?? []) {
      const other = owners.get(id)?.name ?? (offered.includes(id) ? "The core" : undefined);
      if (other !== undefined) {
        throw new CoreError(
          "SERVICE_TAKEN",
          `${other} and ${plugin.name} both provide "${id}"; a service has one owner`,
        );
      }
      owners.set(id, plugin);
    }
  }
  return owners;
}
