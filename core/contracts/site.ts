import { type Token, token } from "../plugin.ts";

/** What is served. The core provides it from the table `[server]`. */
export interface Site {
  /** The one folder whose files may be sent, as an absolute path; undefined when the site has none. */
  readonly publicRoot: string | undefined;
}

export const Site: Token<Site> = token("site@1");
