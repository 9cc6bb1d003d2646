import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { CoreError } from "../../../core/error.ts";
import { dialBun } from "./bun.ts";
import { dialNode } from "./node.ts";
import type { ByteSocket, Place } from "./socket.ts";

/** Times in ms. */
export interface ConnectOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /** Idle time after which the system probes the peer; 60,000 when absent. */
  readonly keepAliveMs?: number;
}

const dial = "Bun" in globalThis ? dialBun : dialNode;

/** The place as a user writes it: `host:port`, `[ipv6]:port` or a path. */
export function showPlace(place: Place): string {
  if (place.kind === "unix") return place.path;
  return place.host.includes(":") ? `[${place.host}]:${place.port}` : `${place.host}:${place.port}`;
}

/**
 * Connects. A name is resolved anew each time, and its addresses are tried in their order, each with its share of the time
 * that is left. Nothing is lost before a handler is set: it is delivered then.
 *
 * @throws CoreError `DB_CONNECT` with the place in its text and the reason as its cause
 */
export async function connect(place: Place, options: ConnectOptions): Promise<ByteSocket> {
  const { timeoutMs, keepAliveMs = 60_000, signal } = options;
  const until = Date.now() + timeoutMs;
  try {
    let addresses: readonly Place[] = [place];
    if (place.kind === "tcp" && isIP(place.host) === 0) {
      const found = await limited(timeoutMs, signal, () => lookup(place.host, { all: true, verbatim: true }));
      addresses = found.map(({ address }) => ({ ...place, host: address }));
    }
    let failure: unknown = new Error("the name has no address");
    for (const [i, address] of addresses.entries()) {
      const share = (until - Date.now()) / (addresses.length - i);
      if (share <= 0 && i > 0) break;
      try {
        return await limited(Math.max(1, share), signal, (signal) => dial(address, keepAliveMs, signal));
      } catch (error) {
        if (signal?.aborted) throw error;
        failure = error;
      }
    }
    throw failure;
  } catch (cause) {
    throw new CoreError("DB_CONNECT", `Cannot connect to ${showPlace(place)}: ${reason(cause)}`, { cause });
  }
}

/** Runs an attempt that is given up after `ms`, or when the caller gives up. */
async function limited<T>(
  ms: number,
  outer: AbortSignal | undefined,
  attempt: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  outer?.throwIfAborted();
  const inner = new AbortController();
  const { promise: given, reject } = Promise.withResolvers<never>();
  const giveUp = (error: unknown) => {
    inner.abort(error);
    reject(error);
  };
  const timer = setTimeout(() => giveUp(new Error(`no answer within ${Math.ceil(ms)} ms`)), ms);
  const leave = () => giveUp(outer?.reason);
  outer?.addEventListener("abort", leave, { once: true });
  try {
    return await Promise.race([attempt(inner.signal), given]);
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener("abort", leave);
  }
}

/** The system's word for it; the runtimes' own texts repeat the address or say nothing. */
function reason(cause: unknown): string {
  const { code, message } = (cause ?? {}) as { code?: string; message?: string };
  switch (code) {
    case "ECONNREFUSED":
      return "connection refused";
    case "ENOENT":
      return "no such socket";
    case "EACCES":
      return "permission denied";
    case "ENOTFOUND":
      return "no such host";
    default:
      return message || String(cause);
  }
}
