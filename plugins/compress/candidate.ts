/** Which responses are worth compressing, and what is said of them then. @module */

export interface Rules {
  /** Media types, as `text/*` or `application/json`. */
  readonly types: readonly string[];
  /** Bodies known to be shorter (bytes) are left alone. */
  readonly minSize: number;
}

/** Statuses whose body is no representation of the whole resource, or that have none. */
const without = new Set([204, 205, 206, 304, 416]);

/** Whether a response would be compressed for a client that takes it: then it varies by `Accept-Encoding`. */
export function worthIt(status: number, headers: Headers, length: number, rules: Rules): boolean {
  if (status < 200 || without.has(status) || headers.has("content-encoding") || headers.has("content-range")) {
    return false;
  }
  if (length >= 0 && length < rules.minSize) return false;
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
  const etag = changed.get("etag");
  if (etag !== null && !etag.startsWith("W/")) changed.set("etag", `W/${etag}`);
  return changed;
}
