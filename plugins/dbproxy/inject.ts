import type { ScriptAddition } from "../../core/contracts/script_settings.ts";
import type { DatabaseSettings } from "./config.ts";

/** A database and where its proxy is really bound. */
export interface InjectedDatabase {
  readonly settings: DatabaseSettings;
  readonly listen: { readonly host: string; readonly port: number } | undefined;
  readonly socket: string | undefined;
}

/** What PHP should be told, and what somebody should know about it. */
export interface Injection {
  readonly additions: readonly ScriptAddition[];
  readonly warnings: readonly string[];
}

/** Makes the variables and settings that lead PHP to the proxies; databases with `inject = false` are left out. */
export function injection(_databases: readonly InjectedDatabase[]): Injection {
  return { additions: [], warnings: [] };
}
