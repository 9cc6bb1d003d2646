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

/** 1045: user unknown or password wrong; the same words for both. */
export const accessDenied = (user: string, host: string, withPassword: boolean): ErrPacket =>
  err(1045, "28000", `Access denied for user '${user}'@'${host}' (using password: ${withPassword ? "YES" : "NO"})`);

/** 1047: unknown, refused or empty command; the connection stays. */
export const unknownCommand = (): ErrPacket => err(1047, "08S01", "Unknown command");

/** 1053 */
export const shuttingDown = (): ErrPacket => err(1053, "08S01", "Server shutdown in progress");

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

/** 1226: too much of one thing at a time; the connection, and its transaction, stay. */
export const capReached = (message: string): ErrPacket => err(1226, "42000", message);

/** 1317 */
export const interrupted = (): ErrPacket => err(1317, "70100", "Query execution was interrupted");

/** 1927: MariaDB's last words to a connection that was killed. */
export const connectionKilled = (): ErrPacket => err(1927, "70100", "Connection was killed");

/** 3159: TLS is required here. */
export const insecureTransport = (): ErrPacket =>
  err(
    3159,
    "HY000",
    "Connections using insecure transport are prohibited while --require_secure_transport=ON.",
  );

/** What a server would answer to a client whose bytes could not be read, for the codes of this folder. */
export function errorOf(problem: CoreError, inHandshake = false): ErrPacket {
  if (problem.code === "DB_PACKET_TOO_LARGE") return packetTooLarge();
  if (problem.code === "DB_SEQUENCE") return outOfOrder();
  if (problem.code === "DB_PROTOCOL") return inHandshake ? badHandshake() : unknownCommand();
  return unknownError(problem.message);
}
