/**
 * Which paths may be a file at all. Decided from the text alone, before the disk is touched.
 *
 * @module
 */

/**
 * - `plain`: may be a file.
 * - `hidden`: has a segment that starts with a dot; answered as not found, whether it exists or not.
 * - `foreign`: source code, or no path this plugin understands; left to the next handler, never sent.
 */
export type PathKind = "plain" | "hidden" | "foreign";

/** A segment that starts with a dot. `.well-known` (RFC 8615) is public, but only at the top. */
const HIDDEN = /^\/\.(?!well-known(?:\/|$))|.\/\./s;

/**
 * As {@linkcode HIDDEN}, for paths the file system has resolved: there `..data` and `..2024_06_01` cannot climb, and
 * are where Kubernetes keeps the files of a mounted volume.
 */
const HIDDEN_ON_DISK = /^\/\.(?!\.|well-known(?:\/|$))|.\/\.(?!\.)/s;

/**
 * Anything that begins like the extension of PHP source, anywhere in a segment: `.php`, `.php8`, `.phps`, `.php~`,
 * `.php.bak`, `.php.gz`, `.PHP `, `.php::$DATA`, `.phpold`. A file too few is better than a password too many.
 */
const PHP = /\.(?:php|pht(?:ml)?(?![a-z])|phar(?![a-z]))/i;

/** `.inc` is included source by custom; but `header.inc.css` is a stylesheet, so only the end of a name counts. */
const INCLUDE = /\.inc(?=$|[^a-z0-9.]|\.(?:$|[^a-z0-9]|\d|bak|old|orig|save|sw[a-p]|tmp|dist|txt|gz|br|zst|zip|tar))/i;

/** Nothing the core's canonical path contains: a relative path, an empty segment, a control character, a backslash. */
// deno-lint-ignore no-control-regex -- they are what is looked for
const ODD = /^(?!\/)|\/\/|[\0-\x1f\x7f\\]/;

/** Whether a file of this name (or below a folder of this name) would give away source code. */
export function isSource(path: string): boolean {
  return PHP.test(path) || INCLUDE.test(path);
}

/** Judges a canonical request path: decoded once, absolute, with `/` between segments. */
export function classify(path: string): PathKind {
  if (ODD.test(path)) return "foreign";
  const hidden = path.search(HIDDEN);
  if (hidden < 0) return isSource(path) ? "foreign" : "plain";
  // What follows a script is its PATH_INFO: `/index.php/.well-known/webfinger` belongs to PHP.
  return isSource(path.slice(0, hidden + 1)) ? "foreign" : "hidden";
}

/** Judges where an opened file really is, relative to the folder it was allowed in: a link must not rename source. */
export function isPublicOnDisk(relative: string): boolean {
  return !HIDDEN_ON_DISK.test(relative) && !isSource(relative);
}
