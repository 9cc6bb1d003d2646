/**
 * The `[db]` table: `[db.mysql]` for one database, `[db.mysql.NAME]` for several.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import * as z from "zod";
import { whyUnreadable } from "../../core/config/environment.ts";
import { isTable, keyName, type Path } from "../../core/config/path.ts";
import { CoreError } from "../../core/error.ts";
import type { SchemaIssue, SchemaResult, StandardSchema } from "../../core/standard_schema.ts";
import { databaseKeys, type DatabaseTable, databaseTable, tcpAddress } from "./config_keys.ts";
import type { Place } from "./net/socket.ts";
import type { TlsMode } from "./net/tls.ts";
import { parseDatabaseUrl } from "./url.ts";

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

/** How clients that come over TCP speak TLS to the proxy. Files are absolute paths of PEM files. */
export interface ClientTls {
  /** `required`: who comes without TLS is refused. */
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
  /** Character set of sessions whose client does not say; undefined leaves it to the proxy. */
  readonly charset: string | undefined;
  readonly tls: ServerTls;
  readonly clientTls: ClientTls | undefined;
  readonly listen: Extract<Place, { readonly kind: "tcp" }> | undefined;
  /** Absolute path. */
  readonly socket: string | undefined;
  /** For `giveToGroup`. */
  readonly socketGroup: string | undefined;
  readonly auth: "trust" | "users";
  /** As written: a password, or `*` and the digits of a hash. */
  readonly users: Readonly<Record<string, string>>;
  readonly unknownUsers: "refuse" | "relay";
  readonly minConnections: number;
  readonly maxConnections: number;
  readonly maxQueue: number;
  /** 0: nobody waits. */
  readonly poolTimeout: number;
  /** For each step of a new connection. */
  readonly connectTimeout: number;
  /** 0: never closed for being idle. */
  /** `Infinity` for never; so is `maxLifetime`. */
  readonly idleTimeout: number;
  /** Before jitter; 0: no limit. */
  readonly maxLifetime: number;
  readonly resetStrategy: "smart" | "always" | "never";
  readonly learn: boolean;
  /** 0: no slow log. */
  readonly slowQuery: number;
  /** Digests kept. */
  readonly digests: number;
  readonly inject: boolean;
}

/** Every database, in the order of the file. */
export interface DbSettings {
  readonly databases: readonly DatabaseSettings[];
}

/** The `[db]` table as it is written, with its defaults; {@linkcode dbSettings} makes settings of it. */
export interface DbTable {
  readonly mysql?: DatabaseTable | Readonly<Record<string, DatabaseTable>> | undefined;
}

/** Standard JSON Schema, by which the core knows a table's keys, is a contract beside Standard Schema. */
const standard: StandardSchema<unknown, DbTable>["~standard"] & { readonly jsonSchema: unknown } = {
  version: 1,
  vendor: "fairlead",
  validate: check,
  jsonSchema: documented()["~standard"].jsonSchema,
};

/**
 * The schema of `[db]`. Its output has the shape of what was written, so that `fairlead check` can show each value where
 * it stands; which of the two forms holds is told by the tables below `[db.mysql]`.
 */
export const dbTable: StandardSchema<unknown, DbTable> = { "~standard": standard };

/** What is known of the keys: those of one database, and below any other key the same again. */
function documented(): z.ZodType {
  const { url, ...others } = databaseKeys;
  const one = z.strictObject({ url: url.optional().describe(`Required. ${url.description}`), ...others });
  return z.strictObject({
    mysql: one.catchall(z.strictObject(databaseKeys)).optional().describe(
      "One database; or several, each in a table [db.mysql.NAME] with the same keys. None: the proxy is off.",
    ),
  });
}

const single = z.strictObject({ mysql: databaseTable.optional() });

function check(written: unknown): SchemaResult<DbTable> {
  const mysql = isTable(written) ? written["mysql"] : undefined;
  const names = isTable(mysql) ? namesOf(mysql) : [];
  const result = (names.length === 0 ? single : several(names)).safeParse(written);
  const issues: SchemaIssue[] = result.error?.issues.flatMap((issue) => misplaced(issue, names)) ?? [];
  if (result.success) issues.push(...clashes(result.data));
  return issues.length > 0 ? { issues } : { value: result.data as DbTable };
}

/** The databases of the form `[db.mysql.NAME]`: every table that is no setting. */
function namesOf(mysql: Readonly<Record<string, unknown>>): string[] {
  return Object.keys(mysql).filter((key) => !Object.hasOwn(databaseKeys, key) && isTable(mysql[key]));
}

function several(names: readonly string[]) {
  return z.strictObject({
    mysql: z.strictObject(Object.fromEntries(names.map((name) => [name, databaseTable]))).superRefine((_, ctx) => {
      for (const name of names.filter((name) => !/^[A-Za-z][A-Za-z0-9_-]{0,31}$/.test(name))) {
        ctx.addIssue({
          code: "custom",
          path: [name],
          message: "expected a name of at most 32 letters, digits, - and _",
        });
      }
    }),
  });
}

/** Says of settings beside the tables of several databases where they belong. */
function misplaced(issue: z.core.$ZodIssue, names: readonly string[]): SchemaIssue[] {
  if (names.length === 0 || issue.code !== "unrecognized_keys" || issue.path.length !== 1) return [issue];
  const known = issue.keys.filter((key) => Object.hasOwn(databaseKeys, key));
  const unknown = issue.keys.filter((key) => !known.includes(key));
  const message = `expected it in [db.mysql.${names[0]}] or another: each database has its own settings`;
  return [
    ...known.map((key) => ({ message, path: [...issue.path, key] })),
    ...(unknown.length > 0 ? [{ ...issue, keys: unknown } as SchemaIssue] : []),
  ];
}

/** Two databases cannot be found at one address. */
function* clashes(table: DbTable): Iterable<SchemaIssue> {
  const taken = new Map<string, string>();
  for (const [path, { listen, socket }] of tables(table)) {
    for (const [key, at] of [["listen", listen], ["socket", socket]] as const) {
      if (at === undefined || at.endsWith(":0")) continue;
      const other = taken.get(at);
      if (other !== undefined) {
        yield { message: `expected an address of its own: ${other} has it too`, path: [...path, key] };
      }
      taken.set(at, `db.${keyName(path)}`);
    }
  }
}

/** Each database's table and where it stands below `[db]`. */
function tables({ mysql }: DbTable): [path: Path, table: DatabaseTable][] {
  if (mysql === undefined) return [];
  if (typeof mysql.url === "string") return [[["mysql"], mysql as DatabaseTable]];
  return Object.entries(mysql as Record<string, DatabaseTable>).map(([name, table]) => [["mysql", name], table]);
}

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
 * @throws CoreError `CONFIG_SECRET` when a `password_file` cannot be read, `CONFIG_INVALID` when a socket's path is too long
 */
export function dbSettings(table: DbTable, options: DbSettingsOptions): DbSettings {
  return { databases: tables(table).map(([path, written]) => settingsOf(path, written, options)) };
}

function settingsOf(path: Path, written: DatabaseTable, options: DbSettingsOptions): DatabaseSettings {
  const url = parseDatabaseUrl(written.url);
  const { parameters } = url;
  const file = (name: string | undefined) => name === undefined ? undefined : resolve(options.baseDir, name);
  const listen = written.listen === undefined ? undefined : tcpAddress(written.listen);
  const mode = parameters.tls as TlsMode | undefined;
  return {
    name: String(path.at(-1)),
    server: url.place,
    user: url.user,
    password: url.password ?? passwordOf(path, written.password_file, options),
    database: url.database,
    charset: parameters.charset,
    tls: {
      mode: url.place.kind === "unix" ? "disabled" : mode ?? written.tls ?? "preferred",
      ca: file(parameters.ca ?? written.tls_ca),
      cert: file(parameters.cert),
      key: file(parameters.key),
      serverName: parameters.server_name,
    },
    clientTls: written.client_tls === "disabled" || written.tls_cert === undefined ? undefined : {
      mode: written.client_tls ?? "preferred",
      cert: file(written.tls_cert)!,
      key: file(written.tls_key)!,
      ca: file(written.client_ca),
    },
    listen: listen && { kind: "tcp", host: listen.host, port: listen.port },
    socket: socketPath(path, file(written.socket)),
    socketGroup: written.socket_group,
    auth: written.auth,
    users: written.users,
    unknownUsers: written.unknown_users,
    minConnections: written.min_connections,
    maxConnections: written.max_connections,
    maxQueue: written.max_queue,
    poolTimeout: written.pool_timeout,
    connectTimeout: written.connect_timeout,
    idleTimeout: written.idle_timeout === 0 ? Infinity : written.idle_timeout,
    maxLifetime: written.max_lifetime === 0 ? Infinity : written.max_lifetime,
    resetStrategy: written.reset_strategy,
    learn: written.learn,
    slowQuery: written.slow_query,
    digests: written.digests,
    inject: written.inject,
  };
}

function passwordOf(path: Path, file: string | undefined, { baseDir, readFile = readText }: DbSettingsOptions): string {
  if (file === undefined) return "";
  const full = resolve(baseDir, file);
  try {
    return readFile(full).replace(/\r?\n$/, "");
  } catch (cause) {
    const name = `db.${keyName(path)}.password_file`;
    throw new CoreError("CONFIG_SECRET", `Cannot read ${full}, named by ${name}: ${whyUnreadable(cause)}`, { cause });
  }
}

const readText = (path: string): string => readFileSync(path, "utf8");

/** The least of the systems' limits (`sun_path`), which counts the whole path; a longer one would be cut. */
function socketPath(path: Path, socket: string | undefined): string | undefined {
  if (socket === undefined || new TextEncoder().encode(socket).length <= 103) return socket;
  throw new CoreError(
    "CONFIG_INVALID",
    `db.${keyName(path)}.socket: expected a path of at most 103 bytes, got ${socket}`,
  );
}
