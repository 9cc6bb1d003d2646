import { CoreError } from "../../core/error.ts";
import type { Place } from "./net/socket.ts";

/** What a database's URL says; absent where it says nothing. */
export interface DatabaseUrl {
  readonly place: Place;
  readonly user: string;
  readonly password: string | undefined;
  readonly database: string | undefined;
  /** The query, decoded: names are among {@linkcode urlParameters}; `socket` is in `place`. */
  readonly parameters: Readonly<Partial<Record<UrlParameter, string>>>;
}

/** The parameters a URL may have after `?`. */
export const urlParameters = ["tls", "ca", "cert", "key", "server_name", "charset", "socket"] as const;
export type UrlParameter = typeof urlParameters[number];

/**
 * Reads `mysql://USER:PASSWORD@HOST:PORT/DATABASE?NAME=VALUE&...`.
 *
 * @throws CoreError `CONFIG_INVALID`; the message never holds a part of the URL that may be secret
 */
export function parseDatabaseUrl(_text: string): DatabaseUrl {
  throw new CoreError("CONFIG_INVALID", "not written yet");
}
