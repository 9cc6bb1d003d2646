import { chmodSync } from "node:fs";
import type { Places } from "../contracts/places.ts";
import { OwnPlaces } from "../handover/places.ts";
import type { Awaitable } from "../plugin.ts";
import type { Address } from "./address.ts";
import { listenBun } from "./bun.ts";
import type { BaseExchange, Intake } from "./exchange.ts";
import { listenNode } from "./node.ts";
import type { Certificates } from "./tls.ts";

/** What a listener needs. Times in ms. */
export interface ListenOptions {
  readonly at: Address;
  readonly intake: Intake;
  /** Bytes of request line and headers. */
  readonly maxHeader: number;
  /** How long a connection may be idle between requests. */
  readonly keepAliveMs: number;
  /** How long a request's head may take to arrive. */
  readonly headerMs: number;
  /** As PEM. */
  readonly tls: Certificates | undefined;
  /** Whether HTTP/2 is spoken too, where the runtime can: chosen by ALPN over TLS, by the client's preface without. */
  readonly http2: boolean;
  /** Where the address is taken; when absent it must be free. */
  readonly places?: Places;
  handle(x: BaseExchange): Awaitable<Response>;
}

/** The same for a runtime's own server. */
export interface BindOptions extends ListenOptions {
  /** Whether processes of the same user may listen beside it. */
  readonly reusePort: boolean;
}

/** A bound listener. */
export interface Bound {
  /** With the port the system chose when 0 was asked for. */
  readonly at: Address;
  /** Stops accepting and resolves when the last connection has ended; `force` cuts them. */
  stop(force: boolean): Promise<void>;
}

/** Binds with the runtime's own server. A unix socket gets mode 0660; a stale one is removed, a live one is an error. */
export async function listen(options: ListenOptions): Promise<Bound> {
  const open = "Bun" in globalThis ? listenBun : listenNode;
  const { bound, leave } = await (options.places ?? new OwnPlaces()).take(
    options.at,
    (at, reusePort) => open({ ...options, at, reusePort }),
    (path) => chmodSync(path, 0o660),
  );
  let stopping: Promise<void> | undefined;
  return {
    at: options.at.kind === "unix" ? options.at : bound.at,
    stop(force) {
      // Before the last connection has ended: by then the name may be a successor's.
      if (stopping === undefined) leave();
      return stopping = force || stopping === undefined ? bound.stop(force) : stopping;
    },
  };
}
