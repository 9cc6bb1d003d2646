import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { Socket } from "node:net";
import { Readable } from "node:stream";
import { createSecureContext, type TlsOptions } from "node:tls";
import type { Endpoint } from "../exchange.ts";
import { thenable } from "../hooks.ts";
import { type Address, unseenPeer } from "./address.ts";
import { bytesOf } from "./bytes.ts";
import { BaseExchange, type Intake } from "./exchange.ts";
import { urlHost } from "./host.ts";
import type { BindOptions, Bound } from "./listen.ts";
import { type Certificates, forServerName } from "./tls.ts";

/**
 * Listens with `node:http`: the listener used on Deno, whose own `Deno.serve` has no time limit for a request's head
 * and takes bare line feeds and unknown transfer codings (see docs/decisions/0003-deno-listener.md).
 */
export async function listenNode(options: BindOptions): Promise<Bound> {
  const { at, intake, tls } = options;
  const scheme = tls === undefined ? "http" : "https";
  const limits = {
    headersTimeout: options.headerMs,
    // Bodies are timed where they are read; the request as a whole has its own deadline.
    requestTimeout: 0,
    keepAliveTimeout: options.keepAliveMs,
    connectionsCheckingInterval: Math.min(1000, options.headerMs / 2),
    maxHeaderSize: options.maxHeader,
    noDelay: true,
  };
  const onRequest = (req: IncomingMessage, res: ServerResponse) => {
    const x = new NodeExchange(req, res, scheme, intake, at);
    const fail = () => void res.destroy();
    try {
      const r = options.handle(x);
      if (thenable(r)) (r as Promise<Response>).then((response) => respond(x, res, response)).catch(fail);
      else respond(x, res, r as Response).catch(fail);
    } catch {
      fail();
    }
  };
  const server: Server = tls === undefined
    ? createServer(limits)
    : createTlsServer({ ...limits, cert: tls.cert, key: tls.key, ...byServerName(tls) }) as unknown as Server;
  server.on("request", onRequest);
  // The 100 is sent when the body is first read: a request that is refused never gets one.
  server.on("checkContinue", onRequest);
  server.on("checkExpectation", (_req, res: ServerResponse) => {
    res.writeHead(417, { connection: "close" });
    res.end();
  });
  server.on("clientError", refuseBytes);
  // A client that takes no byte of its response: without this it keeps its connection, and the file behind, for ever.
  server.timeout = Math.max(options.keepAliveMs, intake.timeoutMs + intake.idleMs);
  server.on("connect", (_req, socket: Socket) => {
    socket.end("HTTP/1.1 405 Method Not Allowed\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
  });

  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    if (at.kind === "tcp") server.listen({ port: at.port, host: at.host, reusePort: options.reusePort }, resolve);
    else server.listen(at.path, resolve);
  });
  const bound = server.address();
  return {
    at: at.kind === "tcp" && typeof bound === "object" && bound !== null ? { ...at, port: bound.port } : at,
    stop(force) {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      if (force) { for (const socket of sockets) socket.destroy(); }
      return closed;
    },
  };
}

/** Has clients that name one of some hosts get its certificate. */
function byServerName({ byName }: Certificates): Pick<TlsOptions, "SNICallback"> {
  if (byName.size === 0) return {};
  const contexts = new Map([...byName].map(([name, { cert, key }]) => [name, createSecureContext({ cert, key })]));
  return { SNICallback: (said, choose) => choose(null, forServerName(contexts, said)) };
}

/** Answers bytes that are not a request, as far as the parser's verdict tells. */
function refuseBytes(error: Error & { code?: string }, socket: Socket): void {
  if (!socket.writable || socket.bytesWritten > 0) return void socket.destroy();
  const status = error.code === "HPE_HEADER_OVERFLOW"
    ? "431 Request Header Fields Too Large"
    : error.code === "ERR_HTTP_REQUEST_TIMEOUT"
    ? "408 Request Timeout"
    : "400 Bad Request";
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}

class NodeExchange extends BaseExchange {
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  #request: Request | undefined;
  #signal: AbortSignal | undefined;

  constructor(req: IncomingMessage, res: ServerResponse, scheme: "http" | "https", intake: Intake, at: Address) {
    const headers = new Headers();
    const raw = req.rawHeaders;
    for (let i = 0; i < raw.length; i += 2) {
      const name = raw[i]!, value = raw[i + 1]!;
      const cookies = /^cookie$/i.test(name) ? headers.get(name) : null;
      // Several Cookie fields are one list, and its separator is not the comma (RFC 6265, section 5.4).
      if (cookies !== null) headers.set(name, `${cookies}; ${value}`);
      else headers.append(name, value);
    }
    const { socket } = req;
    super(
      {
        method: req.method ?? "GET",
        protocol: `HTTP/${req.httpVersion}`,
        target: req.url ?? "/",
        headers,
        scheme,
        local: { address: socket.localAddress ?? "", port: socket.localPort ?? (at.kind === "tcp" ? at.port : 0) },
      },
      intake,
      socket.remoteAddress ?? unseenPeer(at),
    );
    this.#req = req;
    this.#res = res;
  }

  get peer(): Endpoint {
    const { remoteAddress, remotePort } = this.#req.socket;
    return { address: remoteAddress ?? "", port: remotePort ?? 0 };
  }

  get request(): Request {
    const { method, headers, body } = this;
    return this.#request ??= new Request(`${this.scheme}://${urlHost(this.host)}${this.target}`, {
      method,
      headers,
      body,
      signal: this.signal,
      ...(body === null ? {} : { duplex: "half" }),
    } as RequestInit);
  }

  get gone(): boolean {
    return this.#res.closed && !this.#res.writableFinished;
  }

  get signal(): AbortSignal {
    if (this.#signal === undefined) {
      const abort = new AbortController();
      this.onGone(() => abort.abort());
      this.#signal = abort.signal;
    }
    return this.#signal;
  }

  onGone(left: () => void): () => void {
    const res = this.#res;
    const closed = () => {
      if (!res.writableFinished) left();
    };
    if (res.closed) closed();
    else res.once("close", closed);
    return () => void res.off("close", closed);
  }

  override inform(headers: readonly (readonly [name: string, value: string])[]): boolean {
    const res = this.#res;
    if (this.protocol !== "HTTP/1.1" || res.headersSent || res.closed) return false;
    const hints: Record<string, string | string[]> = {};
    for (const [name, value] of headers) {
      const key = name.toLowerCase();
      // A list of links is one of strings; node:http writes any other value as it is.
      if (key === "link") (hints[key] as string[] | undefined ?? (hints[key] = [])).push(...linksOf(value));
      else hints[key] = key in hints ? `${hints[key]}, ${value}` : value;
    }
    if (hints["link"] === undefined) return false;
    try {
      res.writeEarlyHints(hints);
      return true;
    } catch {
      return false;
    }
  }

  protected source(): ReadableStream<Uint8Array> | null {
    const req = this.#req;
    if (req.method === "GET" || req.method === "HEAD") return null;
    if (req.headers.expect !== undefined) this.#res.writeContinue();
    return Readable.toWeb(req) as ReadableStream<Uint8Array>;
  }
}

/** The links of a field: a comma between `<` and `>` or in quotes is none between links. */
function linksOf(value: string): readonly string[] {
  return (value.match(/(?:<[^>]*>|"(?:[^"\\]|\\.)*"|[^,<"])+/g) ?? []).map((link) => link.trim()).filter(Boolean);
}

async function respond(x: NodeExchange, res: ServerResponse, response: Response): Promise<void> {
  if (res.closed) return void await response.body?.cancel();
  try {
    writeHead(x, res, response);
  } catch (cause) {
    // node:http takes fewer characters in a field than Headers does. Whoever streams must hear that nobody reads.
    response.body?.cancel(cause).catch(() => {});
    res.writeHead(500, { connection: "close", "content-length": "0" });
    return void res.end();
  }
  const bytes = bytesOf(response);
  const bare = isBare(x, response);
  if (bare || response.body === null || bytes !== undefined) {
    res.end(bare ? undefined : bytes);
    if (bare) await response.body?.cancel();
    return;
  }
  res.flushHeaders();
  const reader = response.body.getReader();
  const stop = x.onGone(() => void reader.cancel("the client has left").catch(() => {}));
  for (let r = await reader.read(); !r.done; r = await reader.read()) {
    if (!res.write(r.value)) await writable(res);
    if (res.closed) break;
  }
  stop();
  res.end();
}

function isBare(x: NodeExchange, response: Response): boolean {
  return x.method === "HEAD" || response.status === 204 || response.status === 304;
}

function writeHead(x: NodeExchange, res: ServerResponse, response: Response): void {
  const head: string[] = [];
  response.headers.forEach((value, name) => {
    if (name !== "set-cookie") head.push(name, value);
  });
  for (const cookie of response.headers.getSetCookie()) head.push("set-cookie", cookie);
  const bytes = bytesOf(response);
  if (bytes !== undefined && !isBare(x, response) && !response.headers.has("content-length")) {
    head.push("content-length", String(bytes.byteLength));
  }
  res.writeHead(response.status, response.statusText || undefined, head);
}

function writable(res: ServerResponse): Promise<void> {
  // Once closed, neither event comes any more.
  if (res.closed) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      res.off("drain", done);
      res.off("close", done);
      resolve();
    };
    res.once("drain", done);
    res.once("close", done);
  });
}
