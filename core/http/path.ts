/** Characters that may change what a path means; a path without any is canonical as it stands. */
const odd = /[%\\]|\/\/|\/\.|[^\x21-\x7e]/;

/**
 * The one canonical form of a request path: percent-decoded once, backslashes read as slashes (as WHATWG URLs do),
 * slashes merged, dot segments resolved. Undefined when the path means nothing a server may serve: a NUL, a broken
 * escape, or dot segments that leave the root. Bytes that are not UTF-8 become U+FFFD, which names no file.
 *
 * @example
 * ```ts
 * canonicalPath("/a/%2e%2e/b//c%2Fd"); // "/b/c/d"
 * canonicalPath("/../etc/passwd"); // undefined
 * ```
 */
export function canonicalPath(raw: string): string | undefined {
  if (raw.charCodeAt(0) !== 47) return undefined;
  if (!odd.test(raw)) return raw;
  const decoded = decode(raw.replaceAll("\\", "/"));
  if (decoded === undefined || decoded.includes("\0")) return undefined;
  const out: string[] = [];
  const segments = decoded.split("/");
  for (const segment of segments) {
    if (segment === "" || segment === ".") continue;
    if (segment !== "..") out.push(segment);
    else if (out.pop() === undefined) return undefined;
  }
  const last = segments.at(-1);
  const folder = last === "" || last === "." || last === "..";
  return out.length === 0 ? "/" : `/${out.join("/")}${folder ? "/" : ""}`;
}

function decode(raw: string): string | undefined {
  if (!raw.includes("%")) return raw;
  if (/%(?![0-9A-Fa-f]{2})/.test(raw)) return undefined;
  try {
    return decodeURIComponent(raw);
  } catch {
    const bytes = new TextEncoder().encode(raw);
    let n = 0;
    for (let i = 0; i < bytes.length; i++) {
      if (bytes[i] !== 37) bytes[n++] = bytes[i]!;
      else {
        bytes[n++] = parseInt(String.fromCharCode(bytes[i + 1]!, bytes[i + 2]!), 16);
        i += 2;
      }
    }
    return new TextDecoder().decode(bytes.subarray(0, n));
  }
}

/** What precedes the first `?` or `#` of an origin-form target: what follows `#` never reaches a server's routing. */
export function pathOf(target: string): string {
  for (let i = 0; i < target.length; i++) {
    const c = target.charCodeAt(i);
    if (c === 63 || c === 35) return target.slice(0, i);
  }
  return target;
}

/** What stands between the first `?` and a `#`; empty when there is no `?`. */
export function queryOf(target: string): string {
  const q = target.indexOf("?");
  if (q < 0) return "";
  const hash = target.indexOf("#");
  return hash < 0 ? target.slice(q + 1) : hash < q ? "" : target.slice(q + 1, hash);
}

/** A request target in origin form, and the authority that an absolute form names. */
export interface OriginForm {
  readonly target: string;
  readonly authority: string | undefined;
}

/**
 * Brings a request target to origin form; the authority of an absolute form counts instead of the Host field (RFC 9112,
 * 3.2.2). Undefined for anything else, such as `*` or the authority form of CONNECT.
 */
export function originForm(target: string): OriginForm | undefined {
  if (target.charCodeAt(0) === 47) return { target, authority: undefined };
  const m = /^https?:\/\/([^/?#]*)(.*)$/is.exec(target);
  if (m === null) return undefined;
  const [, authority = "", rest = ""] = m;
  return { target: rest.charCodeAt(0) === 47 ? rest : `/${rest}`, authority };
}
