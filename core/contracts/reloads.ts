import { type Token, token } from "../plugin.ts";

/** What a reload did, part by part: `undefined` for fine, else why not. */
export type ReloadResult = Readonly<Record<string, string | undefined>>;

/**
 * Where plugins say how they take new code or files without losing a request: on SIGHUP, `fairlead reload` and
 * `POST /-/reload`. The core provides it.
 *
 * @example
 * ```ts
 * setup: (ctx) => void ctx.find(Reloads)?.register(ctx.name, () => cache.readAgain()),
 * ```
 */
export interface Reloads {
  /** `reload` rejects with what is wrong, and has changed nothing then. */
  register(part: string, reload: () => Promise<void>): void;
  /** Reloads every part, side by side; one that comes during another follows it. Never rejects. */
  run(): Promise<ReloadResult>;
}

/** The service of the core by which parts take what is new. */
export const Reloads: Token<Reloads> = token("reloads@1");
