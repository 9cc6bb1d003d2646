import { createPrivateKey, X509Certificate } from "node:crypto";
import {
  checkServerIdentity,
  connect,
  createSecureContext,
  type PeerCertificate,
  type SecureContext,
  TLSSocket,
} from "node:tls";
import { isIP } from "node:net";
import { CoreError } from "../../../core/error.ts";
import { NodeConnection } from "./node.ts";
import type { ByteSocket } from "./socket.ts";
import { SocketStream } from "./stream.ts";

/** How much TLS: none, if the server has it, always, from a signed certificate, from one of its name; as clients call it. */
export type TlsMode = "disabled" | "preferred" | "required" | "verify_ca" | "verify_identity";

export interface TlsClientOptions {
  readonly mode: TlsMode;
  /** Certificates as PEM; the system's when absent. */
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  /** The name or address the server's certificate must have with `verify_identity`; a name is sent as SNI. */
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

const nothing = new Uint8Array();

/**
 * Checks and prepares a certificate and its key (PEM).
 *
 * @throws CoreError `DB_TLS_INVALID`
 */
export function tlsServerContext(pem: {
  readonly cert: string;
  readonly key: string;
  readonly ca?: string;
}): TlsServerContext {
  try {
    // Not every runtime looks at them before the first handshake.
    if (!new X509Certificate(pem.cert).checkPrivateKey(createPrivateKey(pem.key))) {
      throw new Error("the key is not the certificate's");
    }
    return { ...pem, secure: createSecureContext({ ...pem, minVersion: "TLSv1.2" }) };
  } catch (cause) {
    const text = `Cannot use the certificate and its key: ${(cause as Error).message}`;
    throw new CoreError("DB_TLS_INVALID", text, { cause });
  }
}

/**
 * Turns a connection into TLS, as the client, after the SSLRequest was written. `socket` must not be used any more.
 * `preferred` and `required` take any certificate, `verify_ca` one that `ca` signed, `verify_identity` one that also has the
 * server's name.
 *
 * @throws CoreError `DB_TLS`; the socket is destroyed then
 */
export async function startTlsClient(socket: ByteSocket, options: TlsClientOptions): Promise<ByteSocket> {
  const { mode, ca, cert, key, servername, timeoutMs } = options;
  if (mode === "disabled" || (mode === "verify_identity" && servername === undefined)) {
    socket.destroy();
    const why = mode === "disabled"
      ? "its mode is disabled"
      : "the server's name, which is to be verified, is not known";
    throw new CoreError("DB_TLS", `Cannot start TLS: ${why}`);
  }
  const verify = mode === "verify_ca" || mode === "verify_identity";
  let refusal: Error | undefined;
  const stream = new SocketStream(socket, nothing);
  const tls = connect({
    socket: stream,
    minVersion: "TLSv1.2",
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(servername !== undefined && isIP(servername) === 0 ? { servername } : {}),
    rejectUnauthorized: verify,
    checkServerIdentity: (_host: string, peer: PeerCertificate) => {
      if (mode === "verify_identity") refusal = checkServerIdentity(servername!, peer);
      return refusal;
    },
  });
  return await secured(tls, "secureConnect", stream, socket, timeoutMs, () => {
    // A runtime that did not ask, or did not heed the answer, must not pass.
    if (verify && !tls.authorized) {
      return refusal ?? tls.authorizationError ?? new Error("the certificate was not verified");
    }
    return refusal;
  });
}

/**
 * Turns a connection into TLS, as the server, after an SSLRequest was read. `leftover` is what was read past it: the start
 * of the client's hello, for clients do not wait. Plain text sent ahead by an attacker is no hello and fails the handshake.
 *
 * @throws CoreError `DB_TLS`; the socket is destroyed then
 */
export async function startTlsServer(
  socket: ByteSocket,
  leftover: Uint8Array,
  context: TlsServerContext,
  { timeoutMs = 10_000 }: { readonly timeoutMs?: number } = {},
): Promise<ByteSocket> {
  const mutual = context.ca !== undefined;
  const stream = new SocketStream(socket, leftover);
  const tls = new TLSSocket(stream, {
    isServer: true,
    secureContext: context.secure,
    requestCert: mutual,
    rejectUnauthorized: mutual,
  });
  return await secured(tls, "secure", stream, socket, timeoutMs, () => {
    if (!mutual || tls.authorized) return undefined;
    if (tls.authorizationError) return tls.authorizationError;
    // Deno asks for the certificate and does not look at it.
    if (!signedBy(context.ca!, tls.getPeerCertificate().raw)) return new Error("the client's certificate is not valid");
    return undefined;
  });
}

/** Whether an authority of `ca` has signed a certificate, and both are in date. */
function signedBy(ca: string, der: Uint8Array | undefined): boolean {
  if (der === undefined) return false;
  const inDate = ({ validFrom, validTo }: X509Certificate) =>
    Date.parse(validFrom) <= Date.now() && Date.now() <= Date.parse(validTo);
  const subject = new X509Certificate(der);
  const authorities = ca.match(/-----BEGIN CERTIFICATE-----[^]*?-----END CERTIFICATE-----/g) ?? [];
  return inDate(subject) && authorities.some((pem) => {
    const authority = new X509Certificate(pem);
    return inDate(authority) && subject.checkIssued(authority) && subject.verify(authority.publicKey);
  });
}

/** Bun's TLS hands on what it has encrypted whether the stream below takes more or not: what waits there counts too. */
class TlsConnection extends NodeConnection {
  readonly #stream: SocketStream;
  readonly #below: ByteSocket;

  constructor(tls: TLSSocket, stream: SocketStream, below: ByteSocket) {
    super(tls, { encrypted: true, secure: true, address: below.remoteAddress });
    this.#below = below;
    this.#stream = stream;
    stream.onGone = () => this.drained();
  }

  protected override findPeer(candidates: Iterable<number>): number | undefined {
    return this.#below.peerPid?.(candidates);
  }

  protected override queued(): number {
    return this.socket.writableLength + this.#stream.backlog;
  }
}

/** Waits for the handshake. */
function secured(
  tls: TLSSocket,
  event: "secure" | "secureConnect",
  stream: SocketStream,
  socket: ByteSocket,
  timeoutMs: number,
  check: () => Error | undefined,
): Promise<ByteSocket> {
  return new Promise((resolve, reject) => {
    const fail = (cause: unknown) => {
      settle();
      // Destroying an unfinished handshake may report one more error.
      tls.on("error", () => {});
      tls.destroy();
      socket.destroy();
      reject(new CoreError("DB_TLS", `Cannot start TLS: ${(cause as Error).message ?? String(cause)}`, { cause }));
    };
    const closed = () => fail(new Error("the peer closed the connection"));
    const timer = setTimeout(() => fail(new Error(`no handshake within ${timeoutMs} ms`)), timeoutMs);
    const done = () => {
      const refusal = check();
      if (refusal !== undefined) return fail(refusal);
      settle();
      resolve(new TlsConnection(tls, stream, socket));
    };
    const settle = () => {
      clearTimeout(timer);
      tls.removeListener(event, done);
      tls.removeListener("error", fail);
      tls.removeListener("end", closed);
      tls.removeListener("close", closed);
    };
    tls.once(event, done);
    tls.once("error", fail);
    tls.once("end", closed);
    tls.once("close", closed);
  });
}
