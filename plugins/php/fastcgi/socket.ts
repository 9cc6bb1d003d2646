import { connect as dial } from "node:net";
import { CoreError } from "../../../core/error.ts";

/** What a connection needs of a stream socket; a `Socket` of `node:net` has it. */
export interface FcgiSocket {
  /** Returns false when the caller should wait for `drain`. The bytes must not change afterwards. */
  write(bytes: Uint8Array): boolean;
  pause(): unknown;
  resume(): unknown;
  destroy(): unknown;
  on(event: "data", listener: (chunk: Uint8Array) => void): unknown;
  on(event: "drain" | "end" | "close", listener: () => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
}

/** Where php-fpm listens. */
export type Address = { readonly path: string } | { readonly host: string; readonly port: number };

/**
 * Reads `/run/php.sock`, `unix:/run/php.sock`, `127.0.0.1:9000` or `[::1]:9000`.
 *
 * @throws CoreError `PHP_ADDRESS`
 */
export function parseAddress(text: string): Address {
  const path = text.startsWith("unix:") ? text.slice(5) : text;
  if (path.startsWith("/")) return { path };
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port < 1 || port > 65_535) {
    throw new CoreError(
      "PHP_ADDRESS",
      `Expected the address of php-fpm as /path/to.sock or host:port, found ${JSON.stringify(text)}`,
    );
  }
  return { host: (match[1] ?? match[2])!, port };
}

/**
 * Connects to php-fpm. Aborting `signal` closes the socket and rejects.
 *
 * @throws CoreError `PHP_CONNECT` (status 502), with the system's error as its cause.
 */
export function connect(address: Address, signal?: AbortSignal): Promise<FcgiSocket> {
  return new Promise((resolve, reject) => {
    const name = "path" in address ? address.path : `${address.host}:${address.port}`;
    const socket = "path" in address ? dial(address.path) : dial(address.port, address.host);
    const failed = (cause: unknown) => {
      signal?.removeEventListener("abort", aborted);
      socket.destroy();
      const text = cause instanceof Error ? cause.message : String(cause);
      reject(new CoreError("PHP_CONNECT", `Cannot connect to php-fpm at ${name}: ${text}`, { status: 502, cause }));
    };
    const aborted = () => failed(signal!.reason);
    socket.on("error", failed); // stays: an error must never be without a listener
    socket.once("connect", () => {
      signal?.removeEventListener("abort", aborted);
      socket.setNoDelay(true);
      resolve(socket);
    });
    if (signal?.aborted) return aborted();
    signal?.addEventListener("abort", aborted, { once: true });
  });
}
