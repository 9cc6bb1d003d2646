import { type Token, token } from "../plugin.ts";

/** What scripts find when they run. */
export interface ScriptValues {
  /** Environment variables. */
  readonly env: Readonly<Record<string, string>>;
  /** Settings of php.ini. */
  readonly ini: Readonly<Record<string, string | number | boolean>>;
}

/** Values that are of use together only, such as a host and its port: all of them are given, or none. */
export interface ScriptAddition extends Partial<ScriptValues> {
  /** It is left out when the user has set one of these names; the addition's own names when absent. */
  readonly unless?: readonly string[];
}

/**
 * Where plugins leave what scripts should know: the address of a proxy, the path of a socket. What the user configured
 * comes first, then who added a name first.
 *
 * @example
 * ```ts
 * setup: (ctx) => void ctx.find(ScriptSettings)?.add(ctx.name, { env: { CACHE_HOST: "127.0.0.1", CACHE_PORT: "7000" } }),
 * ```
 */
export interface ScriptSettings {
  /**
   * Adds values: in `setup`, or in an `onListen` of order `pre` when an address must be known. `from` is who adds them.
   *
   * @throws CoreError `SCRIPT_SETTINGS_LATE` when whoever runs scripts has read them already
   */
  add(from: string, addition: ScriptAddition): void;
  /** For whoever runs scripts, in `onListen`: all that was added, and `own`, what the user configured, over it. */
  read(own: ScriptValues): ScriptValues;
}

/** The service of the core by which plugins tell scripts things. */
export const ScriptSettings: Token<ScriptSettings> = token("script-settings@1");
