/**
 * Static files as a library: method, path and headers in, a `Response` out, or undefined for "not mine".
 *
 * @module
 */
import { closeSync, existsSync } from "node:fs";
import { CoreError } from "../../core/error.ts";
import { bytesResponse, fileResponse } from "../../core/http/bytes.ts";
import type { HeaderReader } from "./conditions.ts";
import { type Delivery, FileBody, lengthOf, readAll } from "./file_body.ts";
import { cacheControl, type CacheRule } from "./cache_rules.ts";
import { denial } from "./deny.ts";
import { isPacked, mediaType } from "./media_type.ts";
import { classify, isSource } from "./path.ts";
import { forbidden, notAllowed, notFound, redirectToFolder } from "./refusals.ts";
import { reply } from "./reply.ts";
import { type OpenFile, Roots } from "./roots.ts";
import { choose, plain } from "./variant.ts";

/** Settings of {@linkcode StaticFiles}. */
export interface FileSettings {
  /** The public root: an absolute path. It may be a link, and the link may be turned while serving. */
  readonly root: string;
  /** What stands for a folder: the first that exists. One that is source (`index.php`) means "not mine". */
  readonly index?: readonly string[];
  /** `Cache-Control` by path; the first match counts, and none is sent when nothing matches. */
  readonly cache?: readonly CacheRule[];
  /** Whether `app.js.br`, `.zst` or `.gz` may be sent in the place of `app.js`; true when absent. */
  readonly precompressed?: boolean;
  /** Paths that nobody gets, whatever would answer: 403. Patterns as `/data/**`, held against the real path of a file, too. */
  readonly deny?: readonly string[];
  /** Folders outside the root that links in it may lead into: absolute paths. */
  readonly follow?: readonly string[];
  /** Told of a link that leads anywhere else. */
  readonly onEscape?: (path: string, real: string) => void;
  /** Milliseconds since 1970; `Date.now` when absent. */
  readonly now?: () => number;
}

/** What is asked. An `Exchange` is one, and so is a plain object. */
export interface FileRequest {
  readonly method: string;
  /** Canonical: decoded once, absolute, dot segments resolved, slashes merged. */
  readonly path: string;
  /** What follows the `?`, not decoded. */
  readonly query?: string;
  readonly headers: HeaderReader;
}

/** Up to this many bytes are read at once, without a stream. */
const SMALL = 64 * 1024;

/** A file and the request path it stands for; or a folder that was asked for without its slash. */
type Found = { readonly file: OpenFile; readonly path: string } | "folder" | undefined;

/**
 * Serves the files below one root.
 *
 * @example
 * ```ts
 * const files = new StaticFiles({ root: "/srv/app/public" });
 * const response = files.serve({ method: "GET", path: "/app.css", headers: request.headers });
 * ```
 */
export class StaticFiles {
  readonly #root: string;
  readonly #index: readonly string[];
  readonly #precompressed: boolean;
  readonly #denied: (path: string) => boolean;
  readonly #roots: Roots;
  readonly #cacheControl: (path: string) => string | undefined;
  readonly #now: () => number;

  constructor(settings: FileSettings) {
    this.#root = settings.root.replace(/\/+$/, "");
    this.#index = settings.index ?? ["index.php", "index.html"];
    this.#precompressed = settings.precompressed ?? true;
    this.#denied = denial(settings.deny ?? []);
    this.#roots = new Roots([this.#root || "/", ...settings.follow ?? []], settings.onEscape, undefined, this.#denied);
    this.#cacheControl = cacheControl(settings.cache ?? []);
    this.#now = settings.now ?? Date.now;
  }

  /**
   * Answers with a file, with a redirect to a folder, or with a refusal; undefined when it is for someone else, which
   * takes one look at the disk at most. Never waits: on both runtimes a synchronous look at a local disk takes a tenth
   * of an asynchronous one.
   *
   * @param delivery told how the body fares when it is streamed. A body that is not wanted must be cancelled
   * @throws CoreError `FILE_UNREADABLE` (503), `FILE_SHRANK` (503)
   */
  serve(request: FileRequest, delivery?: Delivery): Response | undefined {
    const kind = classify(request.path);
    if (kind === "hidden") return notFound(request.method);
    if (this.#denied(request.path)) return forbidden(request.method);
    if (kind === "foreign") return undefined;
    try {
      return this.#answer(request, this.#find(request.path), delivery);
    } catch (error) {
      // Nothing has been sent yet, so a file caught while it was rewritten gets a second look.
      if (!(error instanceof CoreError) || error.code !== "FILE_SHRANK") throw error;
      return this.#answer(request, this.#find(request.path), delivery);
    }
  }

  #find(path: string): Found {
    const onDisk = this.#root + path;
    // A failed open, or a failed stat on Deno, costs several times as much. The root needs no look: its index gets one.
    if (path !== "/" && !existsSync(onDisk)) return undefined;
    if (path.endsWith("/")) return this.#indexOf(path);
    const file = this.#roots.open(onDisk);
    if (file === undefined) return undefined;
    if (file !== "folder") return { file, path };
    const index = this.#indexOf(`${path}/`);
    if (index === undefined) return undefined;
    closeSync(index.file.fd);
    return "folder";
  }

  /** The file that stands for a folder; undefined when there is none, or when the next handler has it. */
  #indexOf(folder: string): { readonly file: OpenFile; readonly path: string } | undefined {
    for (const name of this.#index) {
      const path = folder + name;
      if (!existsSync(this.#root + path)) continue;
      if (isSource(name)) return undefined;
      const file = this.#roots.open(this.#root + path);
      if (file !== undefined && file !== "folder") return { file, path };
    }
    return undefined;
  }

  #answer(request: FileRequest, found: Found, delivery: Delivery | undefined): Response | undefined {
    if (found === undefined) return undefined;
    const { method } = request;
    const reads = method === "GET" || method === "HEAD";
    if (found === "folder") return reads ? redirectToFolder(request.path, request.query ?? "") : notAllowed(method);
    if (reads) return this.#send(request, found.file, found.path, delivery);
    closeSync(found.file.fd);
    return notAllowed(method);
  }

  #send({ method, headers }: FileRequest, file: OpenFile, path: string, delivery: Delivery | undefined): Response {
    const type = mediaType(path);
    const now = this.#now();
    let { fd } = file;
    let kept = false;
    try {
      const variant = this.#precompressed && !isPacked(type)
        ? choose(this.#roots, this.#root + path, file, headers.get("accept-encoding"), now)
        : plain(file, now);
      fd = variant.file.fd;
      const answer = reply(method, headers, variant, { type, cacheControl: this.#cacheControl(path), now });
      const length = method === "HEAD" ? 0 : lengthOf(answer.pieces);
      if (length > SMALL) {
        const body = new FileBody(fd, answer.pieces, delivery);
        kept = true;
        const { span } = body;
        return span === undefined ? new Response(body.stream, answer) : fileResponse(body.stream, span, answer);
      }
      return bytesResponse(length === 0 ? null : readAll(fd, answer.pieces), answer);
    } finally {
      if (!kept) closeSync(fd);
    }
  }
}
