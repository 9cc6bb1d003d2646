import { type Token, token } from "../plugin.ts";

/** Whether the server can serve: `ready` when every part is. */
export interface Readiness {
  readonly ready: boolean;
  /** Each part's reason for not being ready, or `ready`. */
  readonly parts: Readonly<Record<string, string>>;
}

/** Where plugins say whether they can serve. The core provides it; `/readyz` shows it. */
export interface Health {
  /**
   * `check` returns why the part is not ready, or undefined when it is. Called at each look. With the word "starting" in it it will pass
   * by itself, as it seems: a restart waits longer for that.
   */
  register(part: string, check: () => string | undefined): void;
  /** Asks every part now. */
  look(): Readiness;
}

/** The service of the core by which parts say why they are not ready. */
export const Health: Token<Health> = token("health@1");
