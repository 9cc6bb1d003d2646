import { createHash } from "node:crypto";
import type { Exchange } from "../../core/exchange.ts";
import { calledHost } from "../../core/http/host.ts";

/** What requests without the header or the cookie share. */
const none = "(none)";

/** Headers that let a client in. */
const letIn = /^(?:proxy-)?authorization$/i;

/**
 * The function that finds the key of a request, for `client`, `host`, `route`, `header:NAME` or `cookie:NAME`; none for `none`. Names
 * of bulkheads are in logs, on pages and in Redis, so a cookie, or a header that lets its client in, is a fingerprint.
 */
export function requestKey(
  key: string,
): ((x: Pick<Exchange, "client" | "host" | "path" | "headers">) => string) | undefined {
  const [kind, name = ""] = key.split(":", 2);
  if (kind === "client") return ({ client }) => client.address || none;
  if (kind === "host") return ({ host }) => calledHost(host) || none;
  if (kind === "route") return ({ path }) => path;
  if (kind === "cookie") return ({ headers }) => fingerprint(cookie(headers.get("cookie") ?? "", name));
  if (kind === "header" && letIn.test(name)) return ({ headers }) => fingerprint(headers.get(name));
  if (kind === "header") return ({ headers }) => headers.get(name) || none;
  return undefined;
}

/** 128 bits of its SHA-256. */
function fingerprint(value: string | null | undefined): string {
  return value ? createHash("sha256").update(value).digest("hex").slice(0, 32) : none;
}

/** The value of the first cookie of this name (RFC 6265, 5.4), as it stands. */
function cookie(header: string, name: string): string | undefined {
  for (const pair of header.split(";")) {
    const at = pair.indexOf("=");
    if (at > 0 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim();
  }
  return undefined;
}
