import { chmodSync, rmSync } from "node:fs";
import type { Awaitable } from "../plugin.ts";
import type { Address } from "./address.ts";
import { listenBun } from "./bun.ts";
import { clearSocket } from "./clear_socket.ts";
import type { BaseExchange, Intake } from "./exchange.ts";
import { listenNode } from "./node.ts";
import type { Tls } from "./tls.ts";

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
  readonly tls: Tls | undefined;
  /** Whether HTTP/2 is spoken too, where the runtime can: chosen by ALPN over TLS, by the client's preface without. */
  readonly http2: boolean;
  handle(x: BaseExchange): Awaitable<Response>;
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
  const { at } = options;
  if (at.kind === "unix") await clearSocket(at.path);
  const bound = await ("Bun" in globalThis ? listenBun : listenNode)(options);
  if (at.kind !== "unix") return bound;
  chmodSync(at.path, 0o660);
  let ours = true;
  return {
    at,
    async stop(force) {
      // Before the last connection has ended: by then the name may be a successor's.
      if (ours) rmSync(at.path, { force: true });
      ours = false;
      await bound.stop(force);
    },
  };
}
