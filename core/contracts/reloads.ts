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
  /**
   * `reload` rejects with what is wrong, and has changed nothing then. A part that looks at files by itself, and has
   * {@linkcode Reloads.one} reload it when they change, says with `watches` which (absolute paths).
   */
  register(part: string, reload: () => Promise<void>, watches?: (path: string) => boolean): void;
  /** Reloads every part, side by side; one that comes during another follows it. Never rejects. */
  run(): Promise<ReloadResult>;
  /** Reloads one part, as {@linkcode Reloads.run} does, waiting for no other. */
  one(part: string): Promise<ReloadResult>;
  /** Whether a part is being reloaded. */
  readonly running: boolean;
  /** Whether a part will reload by itself when this file changes. */
  watched(path: string): boolean;
  /**
   * Calls `told` whenever nothing is being reloaded any more, with what became of the parts that were: what answers from
   * then on is new, where it was not refused.
   */
  onReloaded(told: (result: ReloadResult) => void): void;
}

/** The service of the core by which parts take what is new. */
export const Reloads: Token<Reloads> = token("reloads@1");
