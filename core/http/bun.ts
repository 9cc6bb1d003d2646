import type { Endpoint } from "../exchange.ts";
import { unseenPeer } from "./address.ts";
import { withBunFile } from "./bun_file.ts";
import { totalBytes } from "./bytes.ts";
import { BaseExchange, type Intake } from "./exchange.ts";
import { GoneWatch } from "./gone_watch.ts";
import type { BindOptions, Bound } from "./listen.ts";
import type { Certificates } from "./tls.ts";

/** The part of Bun's server that is used here; `@types/bun` cannot be seen by `deno check`. */
interface BunServer {
  readonly port: number | undefined;
  /** Requests whose response is not out, files that Bun sends by itself among them. */
  readonly pendingRequests: number;
  requestIP(request: Request): Endpoint | null;
  timeout(request: Request, seconds: number): void;
  stop(closeActive?: boolean): Promise<void>;
}

interface BunLike {
  serve(options: Record<string, unknown>): BunServer;
}

/** Longest idle time uSockets can count, in seconds. */
const longestIdle = 255;

/** An idle time that is never shorter than `ms`, for uSockets counts in steps of 4 s; 0 switches it off. */
function idleSeconds(ms: number): number {
  const seconds = Math.ceil(ms / 1000) + 4;
  return seconds > longestIdle ? 0 : seconds;
}

/** Listens with `Bun.serve`. */
export async function listenBun(options: BindOptions): Promise<Bound> {
  const { at, intake, handle, tls } = options;
  // Bun.serve reads this limit from node:http's process-wide setting.
  const http = await import("node:http");
  (http.default as { maxHeaderSize: number }).maxHeaderSize = options.maxHeader;

  const side: Side = {
    scheme: tls === undefined ? "http" : "https",
    watch: new GoneWatch(),
    local: { address: "", port: 0 },
    http2: options.http2,
  };
  // Bun has one idle time for a connection, whether it waits for a request or runs one. A request may be silent until its
  // deadline: where that is longer, the time is set for each request, and set back after it.
  const kept = idleSeconds(options.keepAliveMs);
  const running = idleSeconds(intake.timeoutMs);
  if (running !== kept && (running === 0 || running > kept)) side.idle = { kept, running };
  const fetch = (request: Request, server: BunServer) => {
    if (side.idle !== undefined) server.timeout(request, side.idle.running);
    const peer = intake.proxies.empty ? "" : server.requestIP(request)?.address ?? unseenPeer(at);
    return handle(new BunExchange(request, server, side, intake, peer));
  };

  const server = (globalThis as unknown as { Bun: BunLike }).Bun.serve({
    ...(at.kind === "tcp" ? { hostname: at.host, port: at.port } : { unix: at.path }),
    ...(tls === undefined ? {} : { tls: certificates(tls) }),
    ...(options.http2 ? { http2: true } : {}),
    idleTimeout: kept,
    // Bodies are limited where they are read, so that a refusal is logged and counted like any answer.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    development: false,
    // When it is not told, Bun 1.4 sets SO_REUSEPORT with `development: false`, and a second server shares the port unnoticed.
    reusePort: options.reusePort,
    fetch,
    error: () => new Response("500 Internal Server Error\n", { status: 500 }),
  });
  if (at.kind === "unix") return { at, stop: (force) => stop(server, force, options.http2) };
  const port = server.port ?? at.port;
  side.local = { address: at.host, port };
  return { at: { ...at, port }, stop: (force) => stop(server, force, options.http2) };
}

/** As Bun takes them: the first without a name is for whoever names none of the others. */
function certificates({ cert, key, byName }: Certificates): unknown {
  if (byName.size === 0) return { cert, key };
  return [{ cert, key }, ...[...byName].map(([serverName, { cert, key }]) => ({ serverName, cert, key }))];
}

/** How long (ms) connections are given to be gone when they are cut, and idle ones of HTTP/2 when they have been told to go. */
const cutMs = 500;
/** How often (ms) is looked whether there are only such. */
const lookMs = 100;

/**
 * Bun waits for each client of HTTP/2 to close its side, even of those it cuts: a client that sleeps would hold the end up for ever.
 * So they are waited for only while something is on its way to one.
 */
async function stop(server: BunServer, force: boolean, http2: boolean): Promise<void> {
  const gone = server.stop(force);
  if (!force && !http2) return await gone;
  let since = performance.now(), timer: ReturnType<typeof setInterval> | undefined;
  const idle = new Promise<void>((resolve) => {
    timer = setInterval(() => {
      const now = performance.now();
      if (!force && server.pendingRequests > 0) since = now;
      else if (now - since >= cutMs) resolve();
    }, lookMs);
  });
  await Promise.race([gone, idle]);
  clearInterval(timer);
}

/** An exchange over the Web request that Bun made. */
class BunExchange extends BaseExchange {
  readonly #raw: Request;
  readonly #server: BunServer;
  readonly #side: Side;
  #peer: Endpoint | undefined;
  #request: Request | undefined;

  constructor(request: Request, server: BunServer, side: Side, intake: Intake, peer: string) {
    super(
      {
        method: request.method,
        protocol: "HTTP/1.1",
        target: target(request.url),
        headers: request.headers,
        scheme: side.scheme,
        local: side.local,
        // A body that is looked at becomes a stream: only where nothing else tells whether there is one.
        framed: side.http2 && !request.headers.has("content-length") && request.body !== null,
      },
      intake,
      peer,
    );
    this.#raw = request;
    this.#server = server;
    this.#side = side;
  }

  get request(): Request {
    return this.#request ??= this.length === 0 ? this.#raw : new Request(this.#raw.url, {
      method: this.method,
      headers: this.headers,
      body: this.body,
      signal: this.#raw.signal,
    });
  }

  get peer(): Endpoint {
    return this.#peer ??= this.#server.requestIP(this.#raw) ?? { address: "", port: 0 };
  }

  get signal(): AbortSignal {
    return this.#raw.signal;
  }

  get gone(): boolean {
    return this.#raw.signal.aborted;
  }

  protected override build(...[body, init]: Parameters<BaseExchange["build"]>): Response {
    const large = Array.isArray(body) && totalBytes(body) > corkedBytes && this.protocol === "HTTP/1.1";
    return super.build(large ? direct(body) : body, init);
  }

  override seal(response: Response): Response {
    const { idle } = this.#side;
    // A stream may be silent as long as its request; when it has ended, Bun no longer takes another time for it.
    if (idle !== undefined && this.sent === undefined) this.#server.timeout(this.#raw, idle.kept);
    return this.method === "HEAD" ? headOf(response) : withBunFile(response);
  }

  onGone(left: () => void): () => void {
    return this.#side.watch.add(this.#raw, left);
  }

  protected source(): ReadableStream<Uint8Array> | null {
    return this.#raw.body;
  }
}

/** What all exchanges of one listener share. */
interface Side {
  readonly scheme: "http" | "https";
  readonly watch: GoneWatch;
  local: Endpoint;
  readonly http2: boolean;
  /** Idle times in seconds, when a running request needs another than a connection that is kept. */
  idle?: { readonly kept: number; readonly running: number };
}

/**
 * A late response larger than this (bytes) is written by Bun 1.4 in some twenty system calls, each header in four, which
 * takes longer than all the rest. A stream goes out in two or three, chunked: as nginx sends what PHP gives no length.
 */
const corkedBytes = 14_500;

/** A stream in Bun's own short form: it is written without the queue and the promises of a standard one. */
function direct(pieces: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  const source = {
    type: "direct",
    pull(sink: { write(bytes: Uint8Array): void; end(): void }) {
      for (const bytes of pieces) sink.write(bytes);
      sink.end();
    },
  };
  return new ReadableStream(source as never);
}

/**
 * Bun says `Content-Length: 0` of a HEAD response without a body, which is that of no GET; of a stream it says no length. And it
 * says no `Date` but of 204 and 304.
 */
function headOf(response: Response): Response {
  const { status, statusText, headers } = response;
  if (status === 204 || status === 304) return response;
  if (!headers.has("date")) headers.set("date", new Date().toUTCString());
  if (response.body !== null || headers.has("content-length")) return response;
  return new Response(direct([]), { status, statusText, headers });
}

/** The target of a URL that Bun built: what follows the authority. */
function target(url: string): string {
  if (url.charCodeAt(0) === 47) return url;
  const scheme = url.indexOf("://");
  const slash = url.indexOf("/", scheme < 0 ? 0 : scheme + 3);
  return slash < 0 ? "/" : url.slice(slash);
}
