import { type Token, token } from "../plugin.ts";
import type { VirtualHost } from "./site.ts";

/**
 * Paths below a public root that nobody gets, whatever would answer. `static` refuses them as they are asked for; what finds another
 * file behind a path (a script before its `PATH_INFO`, a folder's index, what a link leads to) asks here for that one.
 */
export interface ClosedPaths {
  /** Whether nobody gets this canonical path of that site. */
  has(path: string, host: VirtualHost): boolean;
}

/** The service of `static` that tells which paths `static.deny` closes. */
export const ClosedPaths: Token<ClosedPaths> = token("closed-paths@1");
