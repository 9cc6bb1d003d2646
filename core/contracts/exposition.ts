import { type Token, token } from "../plugin.ts";

/** Where the admin listener shows every metric as text. The metrics plugin provides it. */
export interface Exposition {
  /** `/metrics` */
  readonly path: string;
}

/** The token of {@linkcode Exposition}. */
export const Exposition: Token<Exposition> = token("exposition@1");
