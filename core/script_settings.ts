import type { ScriptAddition, ScriptSettings, ScriptValues } from "./contracts/script_settings.ts";
import { CoreError } from "./error.ts";
import type { Log } from "./plugin.ts";

/** Keeps what plugins add until scripts are run. */
export class ScriptBoard implements ScriptSettings {
  readonly #log: Log;
  readonly #additions: { readonly from: string; readonly addition: ScriptAddition }[] = [];
  #read = false;

  constructor(log: Log) {
    this.#log = log;
  }

  add(from: string, addition: ScriptAddition): void {
    if (this.#read) {
      const when = 'in setup, or in onListen with order "pre"';
      throw new CoreError("SCRIPT_SETTINGS_LATE", `${from} adds settings for scripts that run already; do it ${when}`, {
        plugin: from,
      });
    }
    this.#additions.push({ from, addition });
  }

  read(own: ScriptValues): ScriptValues {
    this.#read = true;
    const env: Record<string, string> = {}, ini: Record<string, string | number | boolean> = {};
    const owners = new Map<string, string>();
    for (const { from, addition } of this.#additions) {
      const names = [...Object.keys(addition.env ?? {}), ...Object.keys(addition.ini ?? {})];
      if ((addition.unless ?? names).some((name) => Object.hasOwn(own.env, name) || Object.hasOwn(own.ini, name))) {
        continue;
      }
      const differs = (name: string) =>
        owners.has(name) && (env[name] ?? ini[name]) !== (addition.env?.[name] ?? addition.ini?.[name]);
      const taken = names.find(differs);
      if (taken !== undefined) {
        const message = `scripts are not told ${names.join(", ")}: ${taken} is set by another plugin`;
        this.#log("warn", message, { plugin: from, other: owners.get(taken) });
        continue;
      }
      for (const name of names) owners.set(name, owners.get(name) ?? from);
      Object.assign(env, addition.env);
      Object.assign(ini, addition.ini);
    }
    return { env: { ...env, ...own.env }, ini: { ...ini, ...own.ini } };
  }
}
