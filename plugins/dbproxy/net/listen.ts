import { chmodSync, rmSync } from "node:fs";
import { isIP } from "node:net";
import { clearSocket } from "../../../core/http/clear_socket.ts";
import { portTaken } from "../../../core/http/port_taken.ts";
import { listenBun } from "./bun.ts";
import { listenNode } from "./node.ts";
import type { ByteSocket, Place } from "./socket.ts";

export interface ListenOptions {
  /** Of a unix socket; 0o660 when absent. */
  readonly mode?: number;
  /** 511 when absent. Bun has its own. */
  readonly backlog?: number;
  /** Idle time in ms after which the system probes the client; 60,000 when absent. Not on a loopback address. */
  readonly keepAliveMs?: number;
}

/** A bound listener. */
export interface Listening {
  /** With the port the system chose when 0 was asked for. */
  readonly place: Place;
  /** Stops accepting; connections that exist live on. */
  close(): Promise<void>;
}

/**
 * Listens. A stale unix socket is replaced, a live one is an error.
 *
 * @throws CoreError `ADDRESS_TAKEN`, `ADDRESS_DENIED`, `ADDRESS_UNKNOWN`, `ADDRESS_FAILED`
 */
export async function listen(
  place: Place,
  options: ListenOptions,
  onConnection: (socket: ByteSocket) => void,
): Promise<Listening> {
  const { mode = 0o660, backlog = 511 } = options;
  // A process of this machine does not vanish without a word, and a session costs four system calls less.
  const keepAliveMs = place.kind === "tcp" && isLoopback(place.host) ? 0 : options.keepAliveMs ?? 60_000;
  if (place.kind === "unix") await clearSocket(place.path);
  let bound: { readonly port: number; stop(): void };
  try {
    bound = "Bun" in globalThis
      ? listenBun(place, keepAliveMs, onConnection)
      : await listenNode(place, keepAliveMs, backlog, onConnection);
    if (place.kind === "unix") chmodSync(place.path, mode);
  } catch (cause) {
    throw portTaken(place, cause);
  }
  let open = true;
  return {
    place: place.kind === "unix" ? place : { ...place, port: bound.port },
    async close() {
      if (!open) return;
      open = false;
      // The name first: once the listener is closed it may be a successor's.
      if (place.kind === "unix") rmSync(place.path, { force: true });
      bound.stop();
    },
  };
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}
