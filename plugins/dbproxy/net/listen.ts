import { chmodSync } from "node:fs";
import { isIP } from "node:net";
import type { Places } from "../../../core/contracts/places.ts";
import { OwnPlaces } from "../../../core/handover/places.ts";
import { listenBun } from "./bun.ts";
import { listenNode } from "./node.ts";
import type { ByteSocket, Place } from "./socket.ts";

export interface ListenOptions {
  /** Of a unix socket; 0o660 when absent. */
  readonly mode?: number;
  /** Gives a unix socket its group before it has its name. */
  readonly dress?: (path: string) => void;
  /** Where the address is taken; when absent it must be free. */
  readonly places?: Places | undefined;
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
  const { mode = 0o660, backlog = 511, dress, places = new OwnPlaces() } = options;
  // A process of this machine does not vanish without a word, and a session costs four system calls less.
  const keepAliveMs = place.kind === "tcp" && isLoopback(place.host) ? 0 : options.keepAliveMs ?? 60_000;
  const { bound, leave } = await places.take(
    place,
    (at, shared) =>
      "Bun" in globalThis
        ? listenBun(at, keepAliveMs, shared, onConnection)
        : listenNode(at, keepAliveMs, backlog, shared, onConnection),
    (path) => {
      chmodSync(path, mode);
      dress?.(path);
    },
  );
  let open = true;
  return {
    place: place.kind === "unix" ? place : { ...place, port: bound.port },
    async close() {
      if (!open) return;
      open = false;
      // The name first: once the listener is closed it may be a successor's.
      leave();
      bound.stop();
    },
  };
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}
