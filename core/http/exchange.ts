import type { VirtualHost } from "../contracts/site.ts";
import type { Due } from "../deadlines.ts";
import type { Endpoint, Exchange } from "../exchange.ts";
import type { Permit } from "../plugin.ts";
import { type BodyLimits, limitBody } from "./body.ts";
import { bytesResponse, joinBytes } from "./bytes.ts";
import { validHost } from "./host.ts";
import { canonicalPath, originForm, pathOf, queryOf } from "./path.ts";
import { type Forwarded, plainAddress, type TrustedProxies } from "./proxies.ts";
import { VirtualHosts } from "./virtual_hosts.ts";

/** The `[server]` settings that every exchange is read by. */
export interface Intake extends BodyLimits {
  readonly proxies: TrustedProxies;
  readonly timeoutMs: number;
  /** The sites to choose from; when absent there is one, without a public root. */
  readonly virtualHosts?: VirtualHosts;
}

const noSite = new VirtualHosts(undefined, {}, "/");

/** What an adapter knows when the head of a request has arrived. */
export interface Head {
  readonly method: string;
  readonly protocol: string;
  /** The request target as the runtime gives it. */
  readonly target: string;
  readonly headers: Headers;
  readonly scheme: "http" | "https";
  readonly local: Endpoint;
  /** Whether a body comes whose end only its framing tells, with neither length nor transfer coding: HTTP/2 needs none. */
  readonly framed?: boolean;
}

const nobody: Endpoint = { address: "", port: 0 };
const usableId = /^[A-Za-z0-9._~+/=:-]{1,128}$/;
/** Random: processes in containers share their pid, and may share the second they started in. */
const idPrefix = crypto.randomUUID().slice(-12);
let idCount = 0;

/**
 * An exchange but for what differs between runtimes: the peer, the body's source, the Web request and how one learns
 * that the client has left. Costly parts are made on first use, since most requests never look at them.
 */
export abstract class BaseExchange implements Exchange, Due {
  readonly id: string;
  readonly method: string;
  readonly protocol: string;
  readonly target: string;
  readonly path: string;
  readonly query: string;
  readonly headers: Headers;
  readonly local: Endpoint;
  readonly scheme: "http" | "https";
  readonly host: string;
  readonly length: number;
  readonly started: number = performance.now();
  deadline: number;
  /** The status to refuse the request with before anything looks at it, or 0. */
  readonly problem: number;
  handler: string = "core";
  sent: Promise<unknown> | undefined = undefined;
  bytes: number = -1;
  held: boolean = false;
  /** Answered past its deadline while something still runs, which has the permits until it ends. */
  late: boolean = false;
  /** Gives the listener its response, as long as it waits for one. */
  answer: ((response: Response) => void) | undefined = undefined;
  place = -1;
  #permits: Permit[] | undefined;
  #stamped: Response | undefined;
  #pieces: readonly Uint8Array<ArrayBuffer>[] | undefined;
  protected readonly intake: Intake;
  readonly #forwarded: Forwarded | undefined;
  #body: ReadableStream<Uint8Array> | null | undefined;
  #facts: Map<string, unknown> | undefined;
  #extra: (readonly [string, string])[] | undefined;
  #client: Endpoint | undefined;
  #virtualHost: VirtualHost | undefined;

  constructor(head: Head, intake: Intake, peer: string) {
    const { headers, method } = head;
    this.intake = intake;
    this.method = method;
    this.headers = headers;
    this.local = head.local;
    this.deadline = this.started + intake.timeoutMs;
    const given = headers.get("x-request-id");
    this.id = given !== null && usableId.test(given) ? given : `${idPrefix}-${(++idCount).toString(36)}`;
    this.#forwarded = intake.proxies.empty ? undefined : intake.proxies.read(peer, headers);
    this.scheme = this.#forwarded?.scheme ?? head.scheme;

    const host = headers.get("host");
    // Only HTTP/1.0 may come without a Host; a runtime that hides the version has refused the others itself.
    this.protocol = host === null && head.protocol === "HTTP/1.1" ? "HTTP/1.0" : head.protocol;
    const plain = head.target.charCodeAt(0) === 47;
    const origin = plain ? undefined : originForm(head.target);
    this.target = origin?.target ?? head.target;
    this.host = this.#forwarded?.host ?? origin?.authority ?? host ?? "";
    const canonical = plain || origin !== undefined ? canonicalPath(pathOf(this.target)) : undefined;
    this.path = canonical ?? "/";
    this.query = queryOf(this.target);

    const length = headers.get("content-length");
    const coding = headers.get("transfer-encoding");
    this.length = coding !== null || (length === null && head.framed === true)
      ? -1
      : length !== null
      ? Number(length)
      : 0;
    this.problem = method === "CONNECT" || method === "TRACE"
      ? 405
      : canonical === undefined || (this.host === "" ? host !== null : !validHost(this.host))
      ? 400
      : (coding !== null && (coding.toLowerCase() !== "chunked" || length !== null)) || Number.isNaN(this.length)
      ? 400
      : this.length > intake.maxBody
      ? 413
      : 0;
  }

  abstract readonly peer: Endpoint;
  abstract readonly request: Request;
  abstract readonly gone: boolean;
  abstract readonly signal: AbortSignal;
  abstract onGone(left: () => void): () => void;
  /** The last thing done to a response: a listener may swap it for one that it sends better. */
  seal(response: Response): Response {
    return response;
  }

  /** The body as the runtime gives it, not limited. */
  protected abstract source(): ReadableStream<Uint8Array> | null;

  get virtualHost(): VirtualHost {
    return this.#virtualHost ??= (this.intake.virtualHosts ?? noSite).of(this.host);
  }

  get client(): Endpoint {
    return this.#client ??= this.#findClient();
  }

  #findClient(): Endpoint {
    const f = this.#forwarded;
    if (f !== undefined && f.address !== "") return f;
    const { address, port } = this.peer;
    return address === "" ? nobody : { address: plainAddress(address), port };
  }

  get body(): ReadableStream<Uint8Array> | null {
    if (this.#body === undefined) {
      const source = this.length === 0 ? null : this.source();
      this.#body = source === null ? null : limitBody(source, this.length, this.intake, this.deadline);
    }
    return this.#body;
  }

  get facts(): Map<string, unknown> {
    return this.#facts ??= new Map();
  }

  get extra(): (readonly [string, string])[] {
    return this.#extra ??= [];
  }

  respond(
    body: readonly Uint8Array<ArrayBuffer>[] | ReadableStream<Uint8Array> | null,
    status: number,
    headers: readonly (readonly [name: string, value: string])[],
  ): Response {
    const all = [...headers, ["x-request-id", this.id], ...(this.#extra ?? [])] as [string, string][];
    return this.#made(body, { status, headers: all });
  }

  remake(response: Response, body: Parameters<Exchange["remake"]>[1], headers: Headers): Response {
    const { status, statusText } = response;
    const init = { status, statusText, headers };
    return response === this.#stamped ? this.#made(body, init) : this.build(body, init);
  }

  pieces(response: Response): readonly Uint8Array<ArrayBuffer>[] | undefined {
    return response === this.#stamped ? this.#pieces : undefined;
  }

  #made(body: Parameters<Exchange["respond"]>[0], init: ResponseInit): Response {
    this.#pieces = isPieces(body) ? body : undefined;
    return this.#stamped = this.build(body, init);
  }

  /** A response as the listener sends it best. */
  protected build(body: Parameters<Exchange["respond"]>[0], init: ResponseInit): Response {
    return isPieces(body) ? bytesResponse(joinBytes(body), init) : new Response(body as never, init);
  }

  /** Adds the server's own headers to a response that was not made by {@linkcode Exchange.respond}. */
  stamp(response: Response): Response {
    if (response === this.#stamped) return response;
    let out = response;
    try {
      out.headers.set("x-request-id", this.id);
    } catch {
      // `Response.redirect` and `fetch` make headers that cannot be changed.
      out = new Response(response.body, response);
      out.headers.set("x-request-id", this.id);
    }
    if (this.#extra !== undefined) { for (const [name, value] of this.#extra) out.headers.append(name, value); }
    return out;
  }

  /** Takes over a permit that a gate has given. */
  keep(permit: Permit): void {
    if (this.#permits === undefined) this.#permits = [permit];
    else this.#permits.push(permit);
  }

  inform(_headers: readonly (readonly [name: string, value: string])[]): boolean {
    return false;
  }

  hold(): void {
    this.held = true;
  }

  release(): void {
    const permits = this.#permits;
    if (permits === undefined) return;
    this.#permits = undefined;
    for (let i = permits.length - 1; i >= 0; i--) permits[i]!.release();
  }
}

function isPieces(body: Parameters<Exchange["respond"]>[0]): body is readonly Uint8Array<ArrayBuffer>[] {
  return Array.isArray(body);
}
