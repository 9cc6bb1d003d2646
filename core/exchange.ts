/**
 * One request on its way through the hooks. The interface is what plugins see; each HTTP adapter fills in an
 * {@linkcode Incoming}, and `core/http/exchange.ts` makes one from the other.
 *
 * @module
 */

import type { VirtualHost } from "./contracts/site.ts";

/** What became of an exchange, told to `onResponse` after the last byte. */
export interface Outcome {
  readonly status: number;
  /** From the request's arrival to the last byte of the response. */
  readonly ms: number;
  /** Body bytes sent, or -1 when not known. */
  readonly bytes: number;
  /** Set when the response failed or was cut off. */
  readonly error: unknown;
}

/** One end of a connection. `address` is empty for a unix socket. */
export interface Endpoint {
  readonly address: string;
  readonly port: number;
}

/** One request as plugins see it, from its head to the last byte of its response. */
export interface Exchange {
  /** From `X-Request-Id` when the client sent a usable one, else made here; sent back in the response. */
  readonly id: string;
  readonly method: string;
  /** `HTTP/1.1`, `HTTP/1.0` or `HTTP/2.0`. */
  readonly protocol: string;
  /** Path and query as they stood in the request line, not decoded. */
  readonly target: string;
  /**
   * The one canonical path: decoded once, dot segments resolved, slashes merged, never with a NUL. Everything routes
   * on this and nothing else.
   */
  readonly path: string;
  /** What follows the first `?`, not decoded; empty when there is none. */
  readonly query: string;
  readonly headers: Headers;
  /** The Web request, made on first use. */
  readonly request: Request;
  /**
   * The request body, or null. Reading fails with a coded error of status 413 (over `max_body`), 408 (no byte for
   * `body_timeout`) or 400 (cut short).
   */
  readonly body: ReadableStream<Uint8Array> | null;
  /** `Content-Length`, or -1 when there is a body of unknown length; 0 when there is none. */
  readonly length: number;
  /** Who asks: the peer, or the right-most untrusted hop when the peer is a trusted proxy. */
  readonly client: Endpoint;
  /** The socket's other end. */
  readonly peer: Endpoint;
  /** The socket's own end. */
  readonly local: Endpoint;
  readonly scheme: "http" | "https";
  /** Host and port as the client named them. */
  readonly host: string;
  /** The site that the host is for, by `server.hosts`: chosen once, and what every file and script of the answer is from. */
  readonly virtualHost: VirtualHost;
  /** Milliseconds on the monotonic clock (`performance.now`). */
  readonly started: number;
  /**
   * When the exchange must have ended, on the same clock. Who resolves it may bring it forward, before its body is read and
   * without having waited for anything.
   */
  deadline: number;
  /** Aborts when the client leaves. Prefer {@linkcode Exchange.onGone} where each request pays. */
  readonly signal: AbortSignal;
  /** Whether the client has left. */
  readonly gone: boolean;
  /**
   * Runs `left` once if the client leaves, perhaps some ms later ({@linkcode Exchange.gone} tells the truth now); returns a
   * function that takes it back.
   */
  onGone(left: () => void): () => void;
  /** Facts plugins attach, keyed by token id so that names cannot collide. */
  readonly facts: Map<string, unknown>;
  /** Who answered: `static`, `php`, a plugin's name. A metrics label, so few values. */
  handler: string;
  /**
   * Set by whoever streams the body: settles when the last byte has been handed over. A file that the runtime sends by
   * itself counts as handed over at once.
   */
  sent: Promise<unknown> | undefined;
  /** Body bytes sent so far, kept by whoever streams; -1 when not known. */
  bytes: number;
  /** Response headers to add, whoever answers; none overwrites another. */
  readonly extra: (readonly [name: string, value: string])[];
  /**
   * Makes a response that carries the server's own headers (request id, {@linkcode Exchange.extra}) from the start, which
   * costs less than adding them to one that is made already. The body may be a list of the pieces it came in.
   *
   * @throws TypeError or RangeError for a header or status that HTTP does not have
   */
  respond(
    body: readonly Uint8Array<ArrayBuffer>[] | ReadableStream<Uint8Array> | null,
    status: number,
    headers: readonly (readonly [name: string, value: string])[],
  ): Response;
  /**
   * Makes a response anew with another body and other headers, for who changes what somebody else answered: the server's own
   * headers stay in it once. What else is said of the body (its length, encoding, digests, `ETag`) is for the caller to keep true.
   */
  remake(
    response: Response,
    body: readonly Uint8Array<ArrayBuffer>[] | ReadableStream<Uint8Array> | null,
    headers: Headers,
  ): Response;
  /** The body of a response made by {@linkcode Exchange.respond} in pieces; undefined for others, whose stream is to be read. */
  pieces(response: Response): readonly Uint8Array<ArrayBuffer>[] | undefined;
  /**
   * Sends an informational response of status 103 (RFC 8297) ahead of the response; false where the listener cannot (Bun's), where
   * the client speaks HTTP/1.0 or the response has begun, and when there is no usable `Link` among the headers.
   */
  inform(headers: readonly (readonly [name: string, value: string])[]): boolean;
  /** Keeps the permits past the response: the executor calls {@linkcode Exchange.release} when its worker is free. */
  hold(): void;
  /** Gives the permits back, in reverse order. Does nothing the second time. */
  release(): void;
}
