/** Answers that are not a file. @module */

/** Says nothing about whether there is something. */
export function notFound(method: string): Response {
  return text(404, "Not found\n", method, {});
}

/** For a path that nobody gets, whether there is something or not. */
export function forbidden(method: string): Response {
  return text(403, "Forbidden\n", method, {});
}

/** For a file that exists, and a method that is not for files. */
export function notAllowed(method: string): Response {
  const allow = "GET, HEAD";
  if (method === "OPTIONS") return new Response(null, { status: 204, headers: { allow } });
  return text(405, "Method not allowed\n", method, { allow });
}

/**
 * Sends a client to the folder's own address, so that relative links in its index work. The location is a path on
 * this host by construction: one slash, then a segment that is not empty.
 */
export function redirectToFolder(path: string, query: string): Response {
  const location = `/${path.split("/").filter((segment) => segment !== "").map(escape).join("/")}/`;
  const kept = query.replace(/[^\x21-\x7e]/gu, escape);
  return new Response(null, {
    status: 301,
    headers: { location: kept === "" ? location : `${location}?${kept}`, "content-length": "0" },
  });
}

function escape(part: string): string {
  return encodeURIComponent(part.toWellFormed());
}

function text(status: number, body: string, method: string, headers: Record<string, string>): Response {
  return new Response(method === "HEAD" ? null : body, {
    status,
    headers: { ...headers, "content-type": "text/plain; charset=utf-8", "content-length": String(body.length) },
  });
}
