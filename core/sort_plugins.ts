import { CoreError } from "./error.ts";
import type { AnyPlugin } from "./plugin.ts";

/**
 * Orders plugins so that a service is set up before those who ask for it; ties keep the given order.
 *
 * @param offered ids of the services the core itself provides
 * @throws PLUGIN_API, PLUGIN_TAKEN, SERVICE_TAKEN, SERVICE_MISSING, PLUGIN_CYCLE, each naming the plugins
 */
export function sortPlugins(plugins: readonly AnyPlugin[], offered: readonly string[] = []): AnyPlugin[] {
  const owner = new Map<string, AnyPlugin>(), names = new Set<string>();
  for (const p of plugins) {
    if (p.api !== 1) {
      throw new CoreError("PLUGIN_API", `${p.name} was written for contract ${p.api}, this server has contract 1`, {
        plugin: p.name,
      });
    }
    if (names.has(p.name)) {
      throw new CoreError("PLUGIN_TAKEN", `two plugins are named ${p.name}; expected a name of its own for each`, {
        plugin: p.name,
      });
    }
    names.add(p.name);
    for (const t of p.provides ?? []) {
      const other = owner.get(t.id)?.name ?? (offered.includes(t.id) ? "the core" : undefined);
      if (other !== undefined) throw new CoreError("SERVICE_TAKEN", `both ${other} and ${p.name} provide "${t.id}"`);
      owner.set(t.id, p);
    }
  }
  const out: AnyPlugin[] = [], state = new Map<AnyPlugin, "open" | "done">();
  const visit = (p: AnyPlugin, trail: readonly string[]): void => {
    if (state.get(p) === "done") return;
    if (state.get(p) === "open") throw new CoreError("PLUGIN_CYCLE", [...trail, p.name].join(" -> "));
    state.set(p, "open");
    for (const t of p.needs ?? []) {
      const before = owner.get(t.id);
      if (before !== undefined) visit(before, [...trail, p.name]);
      else if (!offered.includes(t.id)) {
        throw new CoreError("SERVICE_MISSING", `${p.name} needs "${t.id}", and no loaded plugin provides it`, {
          plugin: p.name,
        });
      }
    }
    for (const t of p.wants ?? []) {
      const before = owner.get(t.id);
      if (before !== undefined) visit(before, [...trail, p.name]);
    }
    state.set(p, "done");
    out.push(p);
  };
  for (const p of plugins) visit(p, []);
  return out;
}
