import { type Token, token } from "../plugin.ts";

/** What scripts find when they run. */
export interface ScriptValues {
  /** Environment variables. */
  readonly env: Readonly<Record<string, string>>;
  /** Settings of php.ini. */
  readonly ini: Readonly<Record<string, string>>;
}

/** Values of one purpose, which are of use together only. */
export interface ScriptAddition extends Partial<ScriptValues> {
  /**
   * The addition is left out when the configuration sets one of these names itself: half an address is none. The names
   * of the addition when absent.
   */
  readonly unless?: readonly string[];
}

/**
 * Where plugins leave what scripts should know: the address of a proxy, a socket. The core provides it. What the user
 * configured for the scripts comes first, then whoever added a name first.
 */
export interface ScriptSettings {
  /**
   * Adds values; call it in `setup`, or in an `onListen` of order `pre`. `from` is who adds them, for the log.
   *
   * @throws CoreError `SCRIPT_SETTINGS_LATE` when whoever runs the scripts has read them already
   */
  add(from: string, addition: ScriptAddition): void;
  /** All that was added, with `own`, what the user configured, over it. For whoever runs scripts. */
  read(own: ScriptValues): ScriptValues;
}

/** The service of the core by which plugins tell scripts things. */
export const ScriptSettings: Token<ScriptSettings> = token("script-settings@1");
