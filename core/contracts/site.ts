import { type Token, token } from "../plugin.ts";

/** One of the sites of a server: a public root, and the hosts it is for. */
export interface VirtualHost {
  /** Its place in {@linkcode Site.virtualHosts}: what a plugin has for each of them, it keeps by this. */
  readonly index: number;
  /** The key of its entry in `server.hosts`, in small letters; empty for the hosts that no entry names. */
  readonly name: string;
  /** The name and the aliases, in small letters; `*.shop.example` for all names below that. */
  readonly names: readonly string[];
  /** Absolute path of the only folder it serves, or undefined when none is configured. */
  readonly publicRoot: string | undefined;
  /** The key of the configuration that names this folder. */
  readonly key: string;
}

/** The `[server]` facts plugins may need. The core provides it. */
export interface Site {
  /** Absolute path where relative paths of the configuration start. */
  readonly baseDir: string;
  /** The site of the hosts that no entry of `server.hosts` names, then those of the entries. */
  readonly virtualHosts: readonly [VirtualHost, ...VirtualHost[]];
  /** Milliseconds a request may take from its arrival to its last byte. */
  readonly timeoutMs: number;
  /** The largest request body, in bytes. */
  readonly maxBody: number;
  /** `Fairlead/0.1.0`, as told to PHP in `SERVER_SOFTWARE`. */
  readonly software: string;
}

/** The service of the core that tells what `[server]` says. */
export const Site: Token<Site> = token("site@1");
