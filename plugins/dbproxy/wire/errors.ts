import type { CoreError } from "../../../core/error.ts";
import type { ErrPacket } from "./packets.ts";

/**
 * The errors that the proxy sends by itself, with the servers' own codes, states and words, so that a client's handling
 * of them works.
 *
 * @module
 */

const err = (code: number, state: string, message: string): ErrPacket => ({ code, state, message });

/** 1040: no connection to be had; before or instead of a login, or at the first command. */
export const tooManyConnections = (): ErrPacket => err(1040, "08004", "Too many connections");

/** 1043: the login could not be read. */
export const badHandshake = (): ErrPacket => err(1043, "08S01", "Bad handshake");

/** 1044: the user may not use the database. */
export const databaseDenied = (user: string, host: string, database: string): ErrPacket =>
  err(1044, "42000", `Access denied for user '${user}'@'${host}' to database '${database}'`);

/** 1045: user unknown or password wrong; the same words for both. */
export const accessDenied = (user: string, host: string, withPassword: boolean): ErrPacket =>
  err(1045, "28000", `Access denied for user '${user}'@'${host}' (using password: ${withPassword ? "YES" : "NO"})`);

/** 1047: unknown, refused or empty command; the connection stays. */
export const unknownCommand = (): ErrPacket => err(1047, "08S01", "Unknown command");

/** 1049 */
export const unknownDatabase = (name: string): ErrPacket => err(1049, "42000", `Unknown database '${name}'`);

/** 1053 */
export const shuttingDown = (): ErrPacket => err(1053, "08S01", "Server shutdown in progress");

/** 1065: COM_QUERY without a text. */
export const emptyQuery = (): ErrPacket => err(1065, "42000", "Query was empty");

/** 1094: KILL of a connection that is not there. */
export const unknownThread = (id: number | bigint): ErrPacket => err(1094, "HY000", `Unknown thread id: ${id}`);

/** 1095: KILL of another user's connection. */
export const notOwner = (id: number | bigint): ErrPacket => err(1095, "HY000", `You are not owner of thread ${id}`);

/** 1105: what has no code of its own. */
export const unknownError = (message: string): ErrPacket => err(1105, "HY000", message);

/** 1153: then the connection is closed, as a server does. */
export const packetTooLarge = (): ErrPacket =>
  err(1153, "08S01", "Got a packet bigger than 'max_allowed_packet' bytes");

/** 1156: then the connection is closed, as a server does. */
export const outOfOrder = (): ErrPacket => err(1156, "08S01", "Got packets out of order");

/** 1158 */
export const readFailed = (): ErrPacket => err(1158, "08S01", "Got an error reading communication packets");

/** 1159 */
export const readTimeout = (): ErrPacket => err(1159, "08S01", "Got timeout reading communication packets");

/** 1203: this user has as many connections as it may have. */
export const tooManyUserConnections = (user: string): ErrPacket =>
  err(1203, "42000", `User ${user} already has more than 'max_user_connections' active connections`);

/** 1227 */
export const privilegeNeeded = (privilege: string): ErrPacket =>
  err(1227, "42000", `Access denied; you need (at least one of) the ${privilege} privilege(s) for this operation`);

/** 1243: `to` is the command: `mysqld_stmt_execute`, `mysqld_stmt_reset`, ... */
export const unknownStatement = (id: number, to: string): ErrPacket =>
  err(1243, "HY000", `Unknown prepared statement handler (${id}) given to ${to}`);

/** 1251: the client cannot do the authentication that its user needs. */
export const authenticationUnsupported = (): ErrPacket =>
  err(
    1251,
    "08004",
    "Client does not support authentication protocol requested by server; consider upgrading MySQL client",
  );

/** 1317 */
export const interrupted = (): ErrPacket => err(1317, "70100", "Query execution was interrupted");

/** 1524 */
export const pluginNotLoaded = (name: string): ErrPacket => err(1524, "HY000", `Plugin '${name}' is not loaded`);

/** 1927: MariaDB's last words to a connection that was killed. */
export const connectionKilled = (): ErrPacket => err(1927, "70100", "Connection was killed");

/** 3159: TLS is required here. */
export const insecureTransport = (): ErrPacket =>
  err(
    3159,
    "HY000",
    "Connections using insecure transport are prohibited while --require_secure_transport=ON.",
  );

/** 4031: closed for being idle. */
export const idleTooLong = (): ErrPacket =>
  err(
    4031,
    "HY000",
    "The client was disconnected by the server because of inactivity. See wait_timeout and interactive_timeout for " +
      "configuring this behavior.",
  );

/** 2003, a client library's own words: the database cannot be reached. `where` is as the user configured it. */
export const cannotConnect = (where: string, reason: string | number): ErrPacket =>
  err(2003, "HY000", `Can't connect to MySQL server on '${where}' (${reason})`);

/** 2006, a client library's own words: the connection broke before the command was sent. */
export const goneAway = (): ErrPacket => err(2006, "HY000", "MySQL server has gone away");

/** 2013, a client library's own words: the connection broke while the reply was awaited; the command may have run. */
export const lostConnection = (): ErrPacket => err(2013, "HY000", "Lost connection to MySQL server during query");

/** What a server would answer to a client whose bytes could not be read, for the codes of this folder. */
export function errorOf(problem: CoreError, inHandshake = false): ErrPacket {
  if (problem.code === "DB_PACKET_TOO_LARGE") return packetTooLarge();
  if (problem.code === "DB_SEQUENCE") return outOfOrder();
  if (problem.code === "DB_PROTOCOL") return inHandshake ? badHandshake() : unknownCommand();
  return unknownError(problem.message);
}
