/** Which responses are worth compressing, and what is said of them then. @module */

export interface Rules {
  /** Media types, as `text/*` or `application/json`. */
  readonly types: readonly string[];
  /** Bodies known to be shorter (bytes) are left alone. */
  readonly minSize: number;
}

/** Statuses that have no body, or none that is of the resource. */
const without = new Set([204, 205, 304, 416]);

/** Whether a response would be compressed for a client that takes it, or is a part of one that would: then it varies by `Accept-Encoding`. */
export function worthIt(status: number, headers: Headers, length: number, rules: Rules): boolean {
  if (status < 200 || without.has(status) || headers.has("content-encoding")) return false;
  if (status !== 206 && (headers.has("content-range") || (length >= 0 && length < rules.minSize))) return false;
  // RFC 9110, 7.7: no intermediary may transform it, and neither may we.
  if (/(?:^|[\s,])no-transform(?:$|[\s,;])/i.test(headers.get("cache-control") ?? "")) return false;
  return ofType(headers.get("content-type"), rules.types);
}

/** Whether a `Content-Type` is among the types. Events are sent one by one, and are too short for it to be worth much. */
function ofType(value: string | null, types: readonly string[]): boolean {
  const type = value?.replace(/;.*/s, "").trim().toLowerCase();
  if (type === undefined || type === "" || type === "text/event-stream") return false;
  return types.some((known) =>
    known.endsWith("/*")
      ? type.startsWith(known.slice(0, -1))
      : known.startsWith("*")
      ? type.endsWith(known.slice(1))
      : type === known
  );
}

/** Says that the response varies by `Accept-Encoding`, once. */
export function vary(headers: Headers): void {
  const named = (headers.get("vary") ?? "").toLowerCase().split(",").map((name) => name.trim());
  if (!named.includes("accept-encoding") && !named.includes("*")) headers.append("vary", "Accept-Encoding");
}

/** The headers of the response as compressed: other bytes, of another length, that are the same to who reads them. */
export function encoded(headers: Headers, encoding: string): Headers {
  const changed = new Headers(headers);
  vary(changed);
  changed.set("content-encoding", encoding);
  for (const name of ["content-length", "accept-ranges", "content-md5", "content-digest"]) changed.delete(name);
  weaken(changed);
  return changed;
}

/**
 * Makes a 304 say what the compressed 200 said (RFC 9110, 15.4.5). It tells nothing of its type, but a client that asks by the
 * weak form of its `ETag` has that one.
 */
export function unchanged(headers: Headers, ifNoneMatch: string | null): Headers | undefined {
  const etag = headers.get("etag");
  if (etag === null || ifNoneMatch === null || !ifNoneMatch.includes(`W/${etag}`)) return undefined;
  const changed = new Headers(headers);
  vary(changed);
  weaken(changed);
  return changed;
}

function weaken(headers: Headers): void {
  const etag = headers.get("etag");
  if (etag !== null && !etag.startsWith("W/")) headers.set("etag", `W/${etag}`);
}
