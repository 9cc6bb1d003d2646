import type { ScriptAddition } from "../../core/contracts/script_settings.ts";
import type { DatabaseSettings } from "./config.ts";

/** A database, and where its proxy is really bound. */
export interface BoundDatabase {
  readonly settings: DatabaseSettings;
  readonly listen: { readonly host: string; readonly port: number } | undefined;
  readonly socket: string | undefined;
}

/** What PHP should be told, and what somebody should know about it. */
export interface Injection {
  readonly additions: readonly ScriptAddition[];
  readonly warnings: readonly string[];
}

/**
 * Makes the variables and settings that lead PHP to the proxies. The first database that has `inject` gets the usual
 * names; when there are several, each gets names that begin with its own (`SHOP_DB_HOST`) too.
 *
 * The password of the database itself is never among them: with `auth = "users"` it is the proxy's first user whose
 * password is known, with `trust` the user of the url and an empty password.
 */
export function injection(databases: readonly BoundDatabase[]): Injection {
  const additions: ScriptAddition[] = [], warnings: string[] = [];
  const chosen = databases.filter(({ settings, listen, socket }) =>
    settings.inject && (listen ?? socket) !== undefined
  );
  chosen.forEach((db, i) => {
    const way = wayTo(db);
    if (way.user === undefined) {
      warnings.push(
        `PHP is told no user for database ${way.name}: its users have hashes only; write DB_USERNAME and DB_PASSWORD in [php.env]`,
      );
    }
    if (i === 0) additions.push(...usual(way), ...defaultSockets(way));
    if (databases.length > 1) {
      const prefix = `${way.name.toUpperCase().replaceAll("-", "_")}_`;
      additions.push(...family(way, general, prefix), ...databaseUrl(way, prefix));
    }
  });
  return { additions, warnings };
}

/** How PHP gets to one database. */
interface Way {
  readonly name: string;
  readonly host: string;
  readonly port: number | undefined;
  readonly socket: string | undefined;
  /** Undefined when no password of a user is known. */
  readonly user: { readonly name: string; readonly password: string } | undefined;
  readonly database: string | undefined;
}

function wayTo({ settings, listen, socket }: BoundDatabase): Way {
  return {
    name: settings.name,
    // PHP takes its default socket for "localhost", so that what knows no socket setting finds it too.
    host: socket === undefined ? reachable(listen!.host) : "localhost",
    port: listen?.port,
    socket,
    user: userOf(settings),
    database: settings.database,
  };
}

function userOf({ auth, user, users }: DatabaseSettings): Way["user"] {
  if (auth === "trust") return { name: user, password: "" };
  const plain = Object.entries(users).find(([, written]) => !/^\*[0-9A-Fa-f]{40}$/.test(written));
  return plain && { name: plain[0], password: plain[1] };
}

/** An address to connect to, for one to listen on. */
function reachable(host: string): string {
  return host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
}

/** The names of one convention. */
interface Names {
  readonly host: string;
  readonly port: string;
  readonly socket?: string;
  readonly user: readonly string[];
  readonly password: string;
  readonly database: readonly string[];
}

/** Laravel, Bedrock, CodeIgniter and many images. */
const general: Names = {
  host: "DB_HOST",
  port: "DB_PORT",
  socket: "DB_SOCKET",
  user: ["DB_USERNAME", "DB_USER"],
  password: "DB_PASSWORD",
  database: ["DB_DATABASE", "DB_NAME"],
};

/** What MySQL's own image and those beside it (Drupal's recipes, compose files) go by. */
const mysql: Names = {
  host: "MYSQL_HOST",
  port: "MYSQL_PORT",
  user: ["MYSQL_USER"],
  password: "MYSQL_PASSWORD",
  database: ["MYSQL_DATABASE"],
};

function usual(way: Way): ScriptAddition[] {
  return [...family(way, general), ...family(way, mysql), ...wordpress(way), ...databaseUrl(way, "")];
}

/** Address, user and schema, each left out where the user has another address: ours would be of no use there. */
function family(way: Way, names: Names, prefix = ""): ScriptAddition[] {
  const value = (list: readonly (string | undefined)[], text: string) =>
    Object.fromEntries(list.flatMap((name) => name === undefined ? [] : [[prefix + name, text]]));
  const address = {
    ...value([names.host], way.host),
    ...value([names.port], way.port === undefined ? "3306" : String(way.port)),
    // Empty where there is none: an old one in the application's own file of settings would lead past the proxy.
    ...value([names.socket], way.socket ?? ""),
  };
  return additionsOf(
    address,
    way.user && { ...value(names.user, way.user.name), ...value([names.password], way.user.password) },
    way.database === undefined ? undefined : value(names.database, way.database),
  );
}

/** WordPress's image, whose host holds a port or a socket too. */
function wordpress({ host, port, socket, user, database }: Way): ScriptAddition[] {
  const place = socket === undefined ? `${bracketed(host)}:${port}` : `localhost:${socket}`;
  return additionsOf(
    { WORDPRESS_DB_HOST: place },
    user && { WORDPRESS_DB_USER: user.name, WORDPRESS_DB_PASSWORD: user.password },
    database === undefined ? undefined : { WORDPRESS_DB_NAME: database },
  );
}

type Variables = Readonly<Record<string, string>>;

function additionsOf(
  address: Variables,
  login: Variables | undefined,
  schema: Variables | undefined,
): ScriptAddition[] {
  const hosts = Object.keys(address);
  return [address, login, schema].flatMap((env) =>
    env === undefined ? [] : [{ env, unless: [...hosts, ...Object.keys(env)] }]
  );
}

/** Symfony, Doctrine, Laravel: one URL that says it all, so none without a user. */
function databaseUrl({ host, port, socket, user, database }: Way, prefix: string): ScriptAddition[] {
  if (user === undefined) return [];
  const login = encode(user.name) + (user.password === "" ? "" : `:${encode(user.password)}`);
  const place = socket === undefined ? `${bracketed(host)}:${port}` : "localhost";
  const query = socket === undefined ? "" : `?unix_socket=${encode(socket).replaceAll("%2F", "/")}`;
  return [{ env: { [`${prefix}DATABASE_URL`]: `mysql://${login}@${place}/${encode(database ?? "")}${query}` } }];
}

/** Where mysqli and PDO look when the host is `localhost`. */
function defaultSockets({ socket }: Way): ScriptAddition[] {
  if (socket === undefined) return [];
  return ["mysqli.default_socket", "pdo_mysql.default_socket"].map((name) => ({ ini: { [name]: socket } }));
}

function bracketed(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

/** Encodes no more than it must: Symfony's `%env(resolve:DATABASE_URL)%` takes what is between two `%` for a parameter. */
function encode(text: string): string {
  return encodeURIComponent(text);
}
