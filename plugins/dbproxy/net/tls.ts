import type { SecureContext } from "node:tls";
import type { ByteSocket } from "./socket.ts";

/** As MySQL's clients name them. */
export type TlsMode = "disabled" | "preferred" | "required" | "verify_ca" | "verify_identity";

export interface TlsClientOptions {
  readonly mode: TlsMode;
  /** Certificates as PEM. */
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  /** The name (or address) the server's certificate must have with `verify_identity`; sent as SNI when it is a name. */
  readonly servername?: string;
  readonly timeoutMs: number;
}

/** A server's certificate, ready for use. */
export interface TlsServerContext {
  readonly cert: string;
  readonly key: string;
  /** When given, clients must show a certificate of it. */
  readonly ca?: string;
  readonly secure: SecureContext;
}

/**
 * Checks and prepares a certificate.
 *
 * @throws CoreError `DB_TLS_INVALID`
 */
export function tlsServerContext(_pem: { cert: string; key: string; ca?: string }): TlsServerContext {
  throw new Error("not yet");
}

/**
 * Turns a connection into TLS, as the client, after the SSLRequest was written. `socket` must not be used any more.
 *
 * @throws CoreError `DB_TLS`; the socket is destroyed then
 */
export function startTlsClient(_socket: ByteSocket, _options: TlsClientOptions): Promise<ByteSocket> {
  throw new Error("not yet");
}

/**
 * Turns a connection into TLS, as the server, after an SSLRequest was read. `leftover` is what was read past it: the start
 * of the client's hello, or an attack, which fails the handshake.
 *
 * @throws CoreError `DB_TLS`; the socket is destroyed then
 */
export function startTlsServer(
  _socket: ByteSocket,
  _leftover: Uint8Array,
  _context: TlsServerContext,
  _options: { readonly timeoutMs?: number } = {},
): Promise<ByteSocket> {
  throw new Error("not yet");
}
