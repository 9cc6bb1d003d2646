/**
 * The keys of one database in the configuration file, and what must hold between them.
 *
 * @module
 */
import { isIP } from "node:net";
import * as z from "zod";
import { secret } from "../../core/config/secret.ts";
import { duration } from "../../core/config/units.ts";
import { parseAddress } from "../../core/http/address.ts";
import type { TlsMode } from "./net/tls.ts";
import { type DatabaseUrl, parseDatabaseUrl } from "./url.ts";

export const tlsModes: readonly TlsMode[] = ["disabled", "preferred", "required", "verify_ca", "verify_identity"];

/** A time that is one: no step of a connection may take for ever. */
const someTime = () => duration().refine((ms) => ms > 0, 'expected a duration above 0, such as "5s"');

const file = () => z.string().min(1, "expected the path of a file");

/** Reads `HOST:PORT`; undefined when it is something else. A host is an address or `localhost`: nothing is looked up. */
export function tcpAddress(text: string): { readonly host: string; readonly port: number } | undefined {
  try {
    const at = parseAddress(text);
    return at.kind === "tcp" && (isIP(at.host) !== 0 || at.host === "localhost") ? at : undefined;
  } catch {
    return undefined;
  }
}

/** Whether only this machine can reach an address. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^(?:::ffff:)?127\.\d+\.\d+\.\d+$/i.test(host);
}

const url = z.string().superRefine((text, ctx) => {
  try {
    const { parameters: { tls, charset, cert, key } } = parseDatabaseUrl(text);
    if (tls !== undefined && !tlsModes.some((mode) => mode === tls)) {
      ctx.addIssue(`expected one of ${tlsModes.join(", ")} in tls=`);
    }
    if (charset !== undefined && !/^[a-z][a-z0-9]*$/.test(charset)) {
      ctx.addIssue("expected the name of a character set in charset=, such as utf8mb4");
    }
    if ((cert === undefined) !== (key === undefined)) ctx.addIssue("expected both cert= and key=, or none");
  } catch (error) {
    ctx.addIssue((error as Error).message);
  }
});

const password = secret().refine(
  // A hash with a digit lost would otherwise become a password that nobody knows.
  (text) => !/^\*[0-9A-Fa-f]{30,50}$/.test(text) || text.length === 41,
  'expected a password, or "*" and the 40 hexadecimal digits of its hash',
).meta({ writeOnly: true });

/** One database as it is written, with its defaults; times in ms. */
export interface DatabaseTable {
  readonly url: string;
  readonly password_file?: string | undefined;
  readonly listen?: string | undefined;
  readonly socket?: string | undefined;
  readonly socket_group?: string | undefined;
  readonly min_connections: number;
  readonly max_connections: number;
  readonly max_queue: number;
  readonly pool_timeout: number;
  readonly connect_timeout: number;
  readonly idle_timeout: number;
  readonly max_lifetime: number;
  readonly reset_strategy: "smart" | "always" | "never";
  readonly learn: boolean;
  readonly auth: "trust" | "users";
  readonly users: Readonly<Record<string, string>>;
  readonly unknown_users: "refuse" | "relay";
  readonly tls?: TlsMode | undefined;
  readonly tls_ca?: string | undefined;
  readonly client_tls?: "disabled" | "preferred" | "required" | undefined;
  readonly tls_cert?: string | undefined;
  readonly tls_key?: string | undefined;
  readonly client_ca?: string | undefined;
  readonly slow_query: number;
  readonly digests: number;
  readonly inject: boolean;
}

const keys = {
  url: url.describe(
    'The server and the login: "mysql://USER:PASSWORD@HOST:3306/DATABASE", or "mysql://USER@localhost/DATABASE' +
      '?socket=/PATH". Parameters: tls, ca, cert, key, server_name, charset, socket.',
  ),
  password_file: file().optional().describe("File that holds the password, when the url has none."),
  listen: z.string().refine(
    (text) => tcpAddress(text) !== undefined,
    'expected ADDRESS:PORT, such as "127.0.0.1:3306" or "[::1]:3306"',
  ).optional().describe("Address where PHP finds the proxy. This, or socket, or both."),
  socket: z.string().min(1, "expected a path").optional().describe(
    "Path of the proxy's unix socket, mode 0660. Faster than TCP.",
  ),
  socket_group: z.string().min(1, "expected the name of a group").optional().describe(
    "Group that may use the socket; when absent www-data, if the server is root and has it, else the server's own.",
  ),
  min_connections: z.int().min(0).default(2).describe("Connections to the server that are kept open."),
  max_connections: z.int().min(1).max(100_000).default(20).describe("Most connections to the server at once."),
  max_queue: z.int().min(0).default(1000).describe("Sessions that may wait for a connection (error 1040 above)."),
  pool_timeout: duration("5s").describe(
    "How long a session may wait for a connection (an error after); 0 lets none wait.",
  ),
  connect_timeout: someTime().prefault("5s").describe("How long one step of a new connection may take."),
  idle_timeout: duration("300s").describe("Close a connection above min_connections that was idle so long; 0 never."),
  max_lifetime: duration("30m").describe("Replace a connection at about this age; 0 never."),
  reset_strategy: z.enum(["smart", "always", "never"]).default("smart").describe(
    "Reset a connection between sessions: smart when it could differ from a new one, always, or never.",
  ),
  learn: z.boolean().default(true).describe("Answer a SET without the server when the server has shown its effect."),
  auth: z.enum(["trust", "users"]).default("trust").describe(
    "trust: whoever reaches the proxy is in; for loopback and unix sockets only. users: logins are checked.",
  ),
  users: z.record(z.string().min(1, "expected a user's name"), password).default({}).meta({ writeOnly: true }).describe(
    'Who may log in: NAME = "PASSWORD", or "*HASH" as mysql_native_password keeps it.',
  ),
  unknown_users: z.enum(["refuse", "relay"]).default("refuse").describe(
    "Logins not in users: relay lets the server decide, on a connection of their own.",
  ),
  tls: z.enum(tlsModes).optional().describe('TLS to the server; "preferred" when absent. None over a unix socket.'),
  tls_ca: file().optional().describe("PEM file: who signs the server's certificate; the system's list when absent."),
  client_tls: z.enum(["disabled", "preferred", "required"]).optional().describe(
    'TLS of clients that come over TCP; "preferred" when there is a tls_cert, else "disabled".',
  ),
  tls_cert: file().optional().describe("PEM file with the certificate chain that clients are shown."),
  tls_key: file().optional().describe("PEM file with its private key."),
  client_ca: file().optional().describe("PEM file: clients with TLS must show a certificate that it signed."),
  slow_query: duration("1s").describe("Log statements that took so long; 0 logs none."),
  digests: z.int().min(10).max(1_000_000).default(1000).describe("Normalised statements whose figures are kept."),
  inject: z.boolean().default(true).describe("Tell PHP where the proxy is, by environment variables and php.ini."),
};

/** The schema of each key. */
export const databaseKeys: Readonly<Record<keyof DatabaseTable, z.ZodType>> = keys;

/** The schema of one database. */
export const databaseTable: z.ZodType<DatabaseTable> = z.strictObject(keys).superRefine((table, ctx) => {
  for (const [key, message] of contradictions(table, parseDatabaseUrl(table.url))) {
    ctx.addIssue({ code: "custom", path: [key], message });
  }
});

/** What the keys together get wrong: the key to point at, and what was expected. */
function* contradictions(table: DatabaseTable, url: DatabaseUrl): Iterable<[keyof DatabaseTable, string]> {
  const { listen, socket, auth, users } = table;
  if (listen === undefined && socket === undefined) {
    yield [
      "listen",
      'expected where PHP finds the proxy: listen = "127.0.0.1:3306", or socket = "/run/fairlead/mysql.sock"',
    ];
  }
  if (socket === undefined && table.socket_group !== undefined) yield ["socket_group", "expected a socket beside it"];
  const host = listen === undefined ? undefined : tcpAddress(listen)!.host;
  if (auth === "trust" && host !== undefined && !isLoopback(host)) {
    yield [
      "listen",
      'expected a loopback address beside auth = "trust", which lets everybody in; or write auth = "users"',
    ];
  }
  if (auth === "trust" && Object.keys(users).length > 0) {
    yield ["auth", 'expected "users" beside a table of users: "trust" asks nobody for a password'];
  }
  if (auth === "trust" && table.unknown_users === "relay") {
    yield ["unknown_users", 'expected auth = "users" beside "relay": "trust" lets everybody in'];
  }
  if (auth === "users" && Object.keys(users).length === 0 && table.unknown_users === "refuse") {
    yield ["users", 'expected NAME = "PASSWORD" for at least one user, or unknown_users = "relay"'];
  }
  if (table.min_connections > table.max_connections) {
    yield ["min_connections", `expected at most max_connections, ${table.max_connections}`];
  }
  if (table.password_file !== undefined && url.password !== undefined) {
    yield ["password_file", "expected a url without a password beside it"];
  }
  const { tls, ca } = url.parameters;
  if (tls !== undefined && table.tls !== undefined && tls !== table.tls) {
    yield ["tls", `expected tls once: the url says ${tls}`];
  }
  if (ca !== undefined && table.tls_ca !== undefined) yield ["tls_ca", "expected it once: the url has ca="];
  if ((table.tls_cert === undefined) !== (table.tls_key === undefined)) {
    yield table.tls_cert === undefined
      ? ["tls_cert", "expected the file of the certificate that tls_key belongs to"]
      : ["tls_key", "expected the file of the private key of tls_cert"];
  }
  const offered = table.client_tls ?? (table.tls_cert === undefined ? "disabled" : "preferred");
  if (offered !== "disabled" && table.tls_cert === undefined) {
    yield ["tls_cert", `expected a certificate to show to clients: client_tls is "${offered}"`];
  }
  if (offered === "disabled" && table.client_ca !== undefined) {
    yield ["client_ca", "expected TLS for clients beside it: tls_cert and tls_key"];
  }
}
