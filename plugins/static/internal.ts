/**
 * Files that only an application may send: it answers with `X-Accel-Redirect` (as for nginx) or `X-Sendfile` (as for Apache) in the
 * place of a body, and its process is free while the file goes out.
 *
 * @module
 */
import { isAbsolute, resolve } from "node:path";
import { canonicalPath, pathOf } from "../../core/http/path.ts";
import type { Delivery } from "./file_body.ts";
import { type FileRequest, type FileSettings, StaticFiles } from "./files.ts";
import { notFound } from "./refusals.ts";

/** Settings of {@linkcode InternalFiles}. */
export interface InternalSettings {
  /** Absolute paths of folders by the prefix that stands for them: `{ "/protected/": "/srv/app/storage" }`. */
  readonly folders: Readonly<Record<string, string>>;
  /** Told of a link that leads out of its folder. */
  readonly onEscape?: FileSettings["onEscape"];
  /** Told of a file that an application named and nobody can have, by the header's value. */
  readonly onMissing?: (value: string) => void;
}

/** What the file says itself; everything else is for the application to say. */
const OF_THE_FILE = ["content-length", "content-range", "content-encoding", "etag", "last-modified", "accept-ranges"];
/** For us, and nobody's business. */
const TOLD_US = ["x-accel-redirect", "x-sendfile", "x-accel-buffering", "x-accel-charset", "x-accel-expires"];

/** The folders whose files are sent when an application says so, and never by their own address. */
export class InternalFiles {
  readonly #folders: readonly { readonly prefix: string; readonly folder: string; readonly files: StaticFiles }[];
  readonly #onMissing: (value: string) => void;

  constructor({ folders, onEscape, onMissing = () => {} }: InternalSettings) {
    this.#folders = Object.entries(folders)
      .map(([prefix, root]) => {
        const folder = root.replace(/\/+$/, "");
        const rules = { index: [], precompressed: false, ...(onEscape === undefined ? {} : { onEscape }) };
        return { prefix, folder, files: new StaticFiles({ root: folder, ...rules }) };
      })
      .sort((a, b) => b.prefix.length - a.prefix.length);
    this.#onMissing = onMissing;
  }

  /** Whether a path stands for such a folder, so that no client may ask for it. */
  has(path: string): boolean {
    return this.#folders.some(({ prefix }) => path.startsWith(prefix));
  }

  /**
   * Answers with the file that the headers of an application's response name, or 404 when there is none; undefined when they
   * name no file. The application's own body is the caller's to cancel.
   *
   * @throws CoreError as {@linkcode StaticFiles.serve}
   */
  answer(request: FileRequest, given: Headers, delivery?: Delivery): Response | undefined {
    const redirect = given.get("x-accel-redirect");
    const path = redirect === null ? given.get("x-sendfile") : redirect;
    if (path === null) return undefined;
    const method = request.method === "HEAD" ? "HEAD" : "GET";
    const found = redirect === null ? this.#byFolder(path) : this.#byPrefix(path);
    const file = found?.files.serve({ method, path: found.path, headers: request.headers }, delivery);
    if (file === undefined || file.status === 404) {
      this.#onMissing(path);
      return file ?? notFound(method);
    }
    this.#keep(given, file);
    return file;
  }

  #byPrefix(value: string): { readonly files: StaticFiles; readonly path: string } | undefined {
    // Symfony encodes the slashes, too.
    const path = canonicalPath(pathOf(utf8(value)).replace(/^%2f/i, "/"));
    const found = path === undefined ? undefined : this.#folders.find(({ prefix }) => path.startsWith(prefix));
    return found && { files: found.files, path: path!.slice(found.prefix.length - 1) };
  }

  #byFolder(value: string): { readonly files: StaticFiles; readonly path: string } | undefined {
    if (!isAbsolute(value)) return undefined;
    const path = resolve(utf8(value));
    const found = this.#folders.find(({ folder }) => path.startsWith(`${folder}/`));
    return found && { files: found.files, path: path.slice(found.folder.length) };
  }

  /** Has the file go out under the headers of the application, its cookies among them. */
  #keep(given: Headers, { headers, status }: Response): void {
    const parts = status === 206 && headers.get("content-type")?.startsWith("multipart/") === true;
    const cookies = given.getSetCookie();
    for (const [name, value] of given) {
      if (OF_THE_FILE.includes(name) || TOLD_US.includes(name) || name === "set-cookie") continue;
      if (name !== "content-type" || (!parts && headers.has(name))) headers.set(name, value);
    }
    for (const cookie of cookies) headers.append("set-cookie", cookie);
  }
}

/** Header values are bytes: the path in one is text. What is no UTF-8 stays as it is, and names no file. */
function utf8(value: string): string {
  return new TextDecoder().decode(Uint8Array.from(value, (c) => c.charCodeAt(0)));
}
