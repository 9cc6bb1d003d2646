import { nearest } from "../../core/config/nearest.ts";
import { CoreError } from "../../core/error.ts";
import type { Place } from "./net/socket.ts";

/** The parameters a URL may have after `?`. */
export const urlParameters = ["tls", "ca", "cert", "key", "server_name", "charset", "socket"] as const;
export type UrlParameter = typeof urlParameters[number];

/** What a database's URL says. */
export interface DatabaseUrl {
  readonly place: Place;
  readonly user: string;
  readonly password: string | undefined;
  readonly database: string | undefined;
  /** What follows `?`, decoded. */
  readonly parameters: Readonly<Partial<Record<UrlParameter, string>>>;
}

/**
 * Reads `mysql://USER:PASSWORD@HOST:PORT/DATABASE?NAME=VALUE&...`. Everything but user and host may be absent. `%XX` is
 * decoded as UTF-8; in the password `@`, `/`, `:` and `#` may stand as they are.
 *
 * @throws CoreError `CONFIG_INVALID`; its message holds nothing of user and password
 * @example
 * ```ts
 * parseDatabaseUrl("mysql://app:p%40ss@db.internal/shop?tls=required").password; // "p@ss"
 * parseDatabaseUrl("mysql://app@localhost/shop?socket=/run/mysqld/mysqld.sock").place.kind; // "unix"
 * ```
 */
export function parseDatabaseUrl(text: string): DatabaseUrl {
  const [, rest] = /^(?:mysql|mariadb):\/\/(.*)$/is.exec(text) ?? [];
  if (rest === undefined) throw invalid('expected a URL such as "mysql://USER:PASSWORD@HOST:3306/DATABASE"');
  const mark = rest.indexOf("?");
  const [body, query] = mark < 0 ? [rest, ""] : [rest.slice(0, mark), rest.slice(mark + 1)];
  // A raw "@" may be part of the password, so the last one is the border; none can be in a host.
  const at = body.lastIndexOf("@");
  if (at < 0) {
    throw invalid(
      query.includes("@")
        ? 'expected "%3F" for the "?" of a password'
        : "expected a user before the host: mysql://USER:PASSWORD@HOST",
    );
  }
  const colon = body.slice(0, at).indexOf(":");
  const user = decode(body.slice(0, colon < 0 ? at : colon), "the user");
  if (user === "") throw invalid("expected a user before the host: mysql://USER:PASSWORD@HOST");
  const password = colon < 0 ? undefined : decode(body.slice(colon + 1, at), "the password");

  const [, v6, name = "", port, path = ""] =
    /^(?:\[([0-9A-Fa-f:.]+)\]|([^:/[\]\s]*))(?::(\d+))?(?:\/(.*))?$/s.exec(body.slice(at + 1)) ?? [];
  const host = v6 ?? decode(name, "the host");
  const parameters = readParameters(query);
  const place = placeOf(host, port, parameters.socket);
  if (path.includes("/")) throw invalid('expected one name after the host\'s "/"; write "%2F" for a "/" in it');
  const database = path === "" ? undefined : decode(path, "the database");
  return { place, user, password, database, parameters };
}

function placeOf(host: string, port: string | undefined, socket: string | undefined): Place {
  if (socket !== undefined) {
    if (!socket.startsWith("/")) throw invalid("expected the absolute path of a socket in socket=");
    if (host !== "" && host !== "localhost") throw invalid("expected the host localhost beside socket=");
    return { kind: "unix", path: socket };
  }
  if (host === "") throw invalid('expected a host, or "localhost" and ?socket=/PATH');
  const number = port === undefined ? 3306 : Number(port);
  if (number < 1 || number > 65_535) throw invalid("expected a port from 1 to 65535");
  return { kind: "tcp", host, port: number };
}

function readParameters(query: string): Partial<Record<UrlParameter, string>> {
  const found: Partial<Record<UrlParameter, string>> = {};
  for (const part of query === "" ? [] : query.split("&")) {
    const equals = part.indexOf("=");
    const name = decode(equals < 0 ? part : part.slice(0, equals), "a parameter");
    const known = urlParameters.find((parameter) => parameter === name);
    if (known === undefined) {
      const near = nearest(name, urlParameters);
      throw invalid(
        near === undefined
          ? `unknown parameter after "?"; expected ${urlParameters.join(", ")}`
          : `unknown parameter after "?"; did you mean "${near}"?`,
      );
    }
    if (known in found) throw invalid(`expected ${known}= once`);
    const value = equals < 0 ? "" : decode(part.slice(equals + 1), `${known}=`);
    if (value === "") throw invalid(`expected a value in ${known}=`);
    found[known] = value;
  }
  return found;
}

function decode(text: string, what: string): string {
  let plain: string;
  try {
    plain = decodeURIComponent(text);
  } catch (cause) {
    throw new CoreError("CONFIG_INVALID", `expected "%25" for a "%" in ${what}, and UTF-8 behind %XX`, { cause });
  }
  // The protocol ends these texts with a NUL.
  if (plain.includes("\0")) throw invalid(`expected no NUL in ${what}`);
  return plain;
}

function invalid(message: string): CoreError {
  return new CoreError("CONFIG_INVALID", message);
}
