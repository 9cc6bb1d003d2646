/**
 * Which script answers a path: the rules of nginx's `try_files $uri $uri/ /index.php` with
 * `fastcgi_split_path_info ^(.+?\.php)(/.*)$`, made safe.
 *
 * The public root is resolved anew for each request and scripts are named by its real path, as `$realpath_root` does:
 * when a deploy flips `current` to a new release, the next request runs the new release's files under names OPcache has
 * never seen, and a request that has begun stays with its own release.
 *
 * @module
 */
import { pathPattern } from "../../core/http/path_pattern.ts";
import { isHidden, isScriptName, looksLikeScript } from "./script_names.ts";

/** What the rules must know of the file system. */
export interface ScriptFs {
  /** What the path leads to, links followed; undefined when there is nothing (or it cannot be seen). */
  kind(path: string): "file" | "directory" | "other" | undefined;
  /** The path with every link resolved; undefined when there is nothing. */
  realpath(path: string): string | undefined;
}

/** A script, none, or by prefix (`/blog/`), of which the longest counts: `{ "/": false, "/blog/": "/blog/index.php" }`. */
export type FrontController = string | false | Readonly<Record<string, string | false>>;

export interface ResolveSettings {
  /** The only folder whose files are served. May be a link. */
  readonly publicRoot: string;
  /** The script that stands for a folder; `index.php` when absent. */
  readonly index?: string | undefined;
  /** The script that gets every path that is no file, or false; or one for each prefix. `/index.php` when absent. */
  readonly frontController?: FrontController | undefined;
  /** When given, the only scripts a URL may name. The front controller needs no permission. */
  readonly allow?: readonly string[] | undefined;
  /** Scripts no URL may run, by the name asked for and by the real one: `/uploads/**`. */
  readonly deny?: readonly string[] | undefined;
  /** Folders outside the public root that links in it may lead into: scripts run from there, too. Absolute paths. */
  readonly follow?: readonly string[] | undefined;
  /** Paths that nobody gets (`static.deny`), by the name of the script and by its real one below the public root. */
  readonly closed?: ((path: string) => boolean) | undefined;
  /** What a path gets that names a script which does not exist; `not-found` when absent. */
  readonly missingScript?: "not-found" | "front-controller" | undefined;
}

export interface Script {
  readonly kind: "script";
  readonly scriptFilename: string;
  readonly scriptName: string;
  /** Empty when the path ends with the script. */
  readonly pathInfo: string;
  /** The script's name without the rest of the path, as after nginx's `try_files $fastcgi_script_name`. */
  readonly documentUri: string;
  /** The real path of the public root. */
  readonly documentRoot: string;
}

export type Resolution =
  | Script
  /** A folder asked for without its final slash: 301 (GET, HEAD) or 308. */
  | { readonly kind: "redirect"; readonly location: string }
  | { readonly kind: "not-found" }
  | { readonly kind: "forbidden" }
  /** Not for PHP: a file for whoever serves files, or nothing at all. */
  | { readonly kind: "none" };

const notFound: Resolution = { kind: "not-found" };
const forbidden: Resolution = { kind: "forbidden" };
const none: Resolution = { kind: "none" };

/** Resolves a canonical path (decoded once, no dot segments, no NUL); `query` is the raw one, for redirects. */
export type Resolver = (path: string, query: string) => Resolution;

/**
 * Makes the resolver of one public root.
 *
 * @example
 * ```ts
 * const resolve = makeResolver({ publicRoot: "/srv/app/current/public" }, diskFs);
 * resolve("/index.php/users/7", ""); // { kind: "script", scriptName: "/index.php", pathInfo: "/users/7", ... }
 * ```
 */
export function makeResolver(settings: ResolveSettings, fs: ScriptFs): Resolver {
  const { publicRoot, index = "index.php", missingScript = "not-found", follow = [], closed = () => false } = settings;
  const fronts = frontControllers(settings.frontController ?? "/index.php");
  const allowed = settings.allow === undefined ? undefined : pathMatcher(settings.allow);
  const denied = pathMatcher(settings.deny ?? []);

  /** The rest of a real path below the root or a folder that links may lead into, with its leading slash. */
  const inside = (root: string, real: string): string | undefined => {
    if (real.startsWith(`${root}/`)) return real.slice(root.length);
    for (const folder of follow) {
      const there = fs.realpath(folder);
      if (there !== undefined && there !== "/" && real.startsWith(`${there}/`)) return real.slice(there.length);
    }
    return undefined;
  };

  /** The script, unless a link leads out of the root or (for one named by the URL) a pattern forbids it. */
  const run = (root: string, scriptName: string, pathInfo: string, named: boolean): Resolution => {
    const scriptFilename = root + scriptName;
    const real = fs.realpath(scriptFilename);
    if (real === undefined) return notFound;
    const realName = inside(root, real);
    if (realName === undefined) return forbidden;
    // A link may give a script a harmless name, or another file a script's name.
    if (!isScriptName(scriptName) || !isScriptName(realName)) return forbidden;
    if (realName.split("/").some(isHidden) && !realName.startsWith("/.well-known/")) return forbidden;
    const isFront = fronts.some((front) => front.script === scriptName);
    // A front controller stands for other paths, closed by its own name or not; by that name it has a PATH_INFO.
    if (named && (!isFront || pathInfo !== "")) {
      if (closed(scriptName) || (real.startsWith(`${root}/`) && closed(realName))) return forbidden;
    }
    if (named && !isFront) {
      if (denied(scriptName) || denied(realName)) return forbidden;
      if (allowed !== undefined && !allowed(scriptName)) return forbidden;
    }
    return { kind: "script", scriptFilename, scriptName, pathInfo, documentUri: scriptName, documentRoot: root };
  };

  const fallback = (root: string, path: string): Resolution => {
    const script = fronts.find(({ prefix }) => path.startsWith(prefix))?.script ?? false;
    if (script === false || fs.kind(root + script) !== "file") return none;
    return run(root, script, "", false);
  };

  return (path, query) => {
    if (!path.startsWith("/")) return none;
    if (path.includes("\0")) return notFound;
    const resolved = fs.realpath(publicRoot);
    if (resolved === undefined) return none;
    const root = resolved === "/" ? "" : resolved;
    if (path === "/" || !mayNameScript(path)) return place(root, path, query);
    for (let from = 1; from <= path.length;) {
      const slash = path.indexOf("/", from);
      const end = slash < 0 ? path.length : slash;
      const segment = path.slice(from, end);
      if (segment === "." || segment === "..") return notFound;
      if (isHidden(segment) && !(from === 1 && segment === ".well-known")) return notFound;
      if (isScriptName(segment)) {
        const name = path.slice(0, end);
        const kind = fs.kind(root + name);
        if (kind === "file") return run(root, name, path.slice(end), true);
        if (kind !== "directory") return missingScript === "not-found" ? notFound : fallback(root, path);
      } else if (looksLikeScript(segment)) return notFound;
      from = end + 1;
    }
    return place(root, path, query);
  };

  /** A path without a script in it: a file, a folder with an index, or the front controller's. */
  function place(root: string, path: string, query: string): Resolution {
    const kind = path === "/" ? "directory" : fs.kind(root + path);
    if (kind === "file") return path.endsWith("/") ? fallback(root, path) : none;
    if (kind !== "directory") return fallback(root, path);
    const folder = path.endsWith("/") ? path : `${path}/`;
    if (fs.kind(root + folder + index) !== "file") return fallback(root, path);
    if (folder === path) return run(root, folder + index, "", true);
    return { kind: "redirect", location: encodePath(folder) + (query === "" ? "" : `?${query}`) };
  }
}

/** Longest prefix first. */
function frontControllers(given: FrontController): { readonly prefix: string; readonly script: string | false }[] {
  if (typeof given !== "object") return [{ prefix: "/", script: given }];
  return Object.entries(given)
    .map(([prefix, script]) => ({ prefix, script }))
    .sort((a, b) => b.prefix.length - a.prefix.length);
}

/** Makes a test for paths that any of the patterns means. */
function pathMatcher(patterns: readonly string[]): (path: string) => boolean {
  const expressions = patterns.map(pathPattern);
  return (path) => expressions.some((one) => one.test(path));
}

/** Most paths have no script and nothing hidden in them: one look saves the walk. */
function mayNameScript(path: string): boolean {
  return path.includes("/.") || /\.ph/i.test(path);
}

/** Percent-encodes a decoded path. It cannot begin with `//`, which a browser would take for another host. */
function encodePath(path: string): string {
  const safe = path.replace(/^\/{2,}/, "/");
  return safe.split("/").map((segment) => encodeURIComponent(segment.toWellFormed())).join("/");
}
