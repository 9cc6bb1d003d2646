import type { TlsMode } from "../net/tls.ts";
import type { Place } from "../net/socket.ts";

/** Where the database is, and as whom the proxy logs in there. */
export interface Account {
  readonly place: Place;
  readonly user: string;
  readonly password: string;
  readonly tls: {
    readonly mode: TlsMode;
    readonly ca?: string | undefined;
    readonly cert?: string | undefined;
    readonly key?: string | undefined;
    /** The name the certificate must have; the host's when absent. */
    readonly serverName?: string | undefined;
  };
  /** For each step of getting a connection, in ms. */
  readonly timeoutMs: number;
}
