import * as z from "zod";
import type { Secret } from "./auth/dialogue.ts";
import type { Place } from "./net/socket.ts";

export type TlsMode = "disabled" | "preferred" | "required" | "verify_ca" | "verify_identity";

/** How the proxy speaks TLS to the server. Files are absolute paths of PEM files. */
export interface ServerTls {
  readonly mode: TlsMode;
  /** Who must have signed the server's certificate; the system's authorities when absent. */
  readonly ca: string | undefined;
  /** The proxy's own certificate, for accounts that demand one. */
  readonly cert: string | undefined;
  readonly key: string | undefined;
  /** The name the certificate must carry (`verify_identity`); the URL's host when absent. */
  readonly serverName: string | undefined;
}

/** How clients speak TLS to the proxy. Files are absolute paths of PEM files. */
export interface ClientTls {
  /** `required`: whoever comes over TCP without TLS is refused. */
  readonly mode: "preferred" | "required";
  readonly cert: string;
  readonly key: string;
  /** When set, a client must show a certificate signed by it. */
  readonly ca: string | undefined;
}

/** One database; times in ms. */
export interface DatabaseSettings {
  readonly name: string;
  /** Where the server is, and as whom the proxy logs in. */
  readonly server: Place;
  readonly user: string;
  readonly password: string;
  readonly database: string | undefined;
  /** Name of the character set that new sessions have when a client does not say; `utf8mb4` when absent. */
  readonly charset: string | undefined;
  readonly tls: ServerTls;
  readonly clientTls: ClientTls | undefined;
  readonly listen: Extract<Place, { readonly kind: "tcp" }> | undefined;
  /** Absolute path. */
  readonly socket: string | undefined;
  readonly auth: "trust" | "users";
  readonly users: ReadonlyMap<string, Secret>;
  readonly unknownUsers: "refuse" | "relay";
  readonly minConnections: number;
  readonly maxConnections: number;
  readonly maxQueue: number;
  /** 0: nobody waits. */
  readonly poolTimeout: number;
  /** 0: never closed for being idle. */
  readonly idleTimeout: number;
  /** Before jitter; 0: no limit. */
  readonly maxLifetime: number;
  /** For each step of a new connection. */
  readonly connectTimeout: number;
  readonly resetStrategy: "smart" | "always" | "never";
  readonly learn: boolean;
  /** 0: no slow log. */
  readonly slowQuery: number;
  /** Digests kept. */
  readonly digests: number;
  readonly inject: boolean;
}

export interface DbSettings {
  readonly databases: readonly DatabaseSettings[];
}

/** The `[db]` table as it is written; {@linkcode dbSettings} makes settings of it. */
export interface DbTable {
  readonly mysql?: Readonly<Record<string, unknown>> | undefined;
}

export const dbTable: z.ZodType<DbTable> = z.strictObject({});

/** What {@linkcode dbSettings} may be told. */
export interface DbSettingsOptions {
  /** Where relative paths start. */
  readonly baseDir: string;
  /** Reads a `password_file`; from disk when absent. */
  readonly readFile?: (path: string) => string;
}

/**
 * The settings of every database of a valid `[db]` table, in the order of the file.
 *
 * @throws CoreError `CONFIG_SECRET` when a `password_file` cannot be read
 */
export function dbSettings(_table: DbTable, _options: DbSettingsOptions): DbSettings {
  return { databases: [] };
}
