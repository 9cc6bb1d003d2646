import { type Token, token } from "../plugin.ts";

/** The `[server]` facts plugins may need. The core provides it. */
export interface Site {
  /** Absolute path where relative paths of the configuration start. */
  readonly baseDir: string;
  /** Absolute path of the only folder ever served, or undefined when none is configured. */
  readonly publicRoot: string | undefined;
  /** Milliseconds a request may take from its arrival to its last byte. */
  readonly timeoutMs: number;
  /** The largest request body, in bytes. */
  readonly maxBody: number;
  /** `Fairlead/0.1.0`, as told to PHP in `SERVER_SOFTWARE`. */
  readonly software: string;
}

/** The service of the core that tells what `[server]` says. */
export const Site: Token<Site> = token("site@1");
