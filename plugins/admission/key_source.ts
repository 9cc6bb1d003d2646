/**
 * Whose share of the permits a request takes.
 *
 * @module
 */
import { createHash } from "node:crypto";
import type { Exchange } from "../../core/exchange.ts";
import { calledHost } from "../../core/http/host.ts";
import { network } from "../../core/http/network.ts";

/** What of an exchange rules and keys look at. */
export type Asked = Pick<Exchange, "path" | "host" | "method" | "headers" | "client">;

/** A `key` of the configuration, read. */
export type KeySource =
  | { readonly kind: "none" | "client" | "host" | "route" }
  | { readonly kind: "header" | "cookie"; readonly name: string };

/** Characters of a key that count: a client writes headers and cookies as long as it likes, and keys are kept. */
const longest = 200;

const form = /^(?:(none|client|host|route)|(header|cookie):([!#$%&'*+\-.^_`|~0-9A-Za-z]+))$/;

/** Reads `none`, `client`, `host`, `route`, `header:NAME` or `cookie:NAME`; undefined for anything else. */
export function keySource(text: string): KeySource | undefined {
  const [, plain, named, name] = form.exec(text) ?? [];
  if (plain !== undefined) return { kind: plain as "none" | "client" | "host" | "route" };
  if (named === "header") return { kind: "header", name: name!.toLowerCase() };
  return named === undefined ? undefined : { kind: "cookie", name: name! };
}

/**
 * The key of an exchange; undefined when it has none. A letter in front keeps the keys of different sources apart, so that nobody
 * can take another's share by naming his address in a header.
 *
 * @param route the rule that the exchange matched; the first segment of its path stands for a route when none did
 */
export function keyOf(source: KeySource, x: Asked, route: number | undefined): string | undefined {
  switch (source.kind) {
    case "none":
      return undefined;
    case "client":
      return `a:${network(x.client.address)}`;
    case "host":
      return `v:${calledHost(x.host)}`.slice(0, longest);
    case "route":
      return route === undefined ? `p:${/^\/[^/]*/.exec(x.path)?.[0]}`.slice(0, longest) : `r:${route}`;
    case "header":
      return marked("h", x.headers.get(source.name));
    case "cookie":
      return marked("c", cookieOf(x.headers, source.name));
  }
}

function marked(mark: string, value: string | null | undefined): string | undefined {
  return value ? `${mark}:${value}`.slice(0, longest) : undefined;
}

/**
 * A key as operators may see it. What a client has sent in a header or a cookie may be what lets it in, so of that only the start of
 * its SHA-256 is told: enough to tell keys apart, and to find one that is known.
 */
export function shownKey(key: string): string {
  const mark = key.slice(0, 2);
  if (mark !== "h:" && mark !== "c:") return key;
  return `${mark}#${createHash("sha256").update(key.slice(2)).digest("hex").slice(0, 12)}`;
}

/** A cookie's value as PHP takes it: of two with one name the first, which is the more specific one (RFC 6265, section 5.4). */
export function cookieOf(headers: Pick<Headers, "get">, name: string): string | undefined {
  const header = headers.get("cookie");
  if (header === null || !header.includes(name)) return undefined;
  for (const part of header.split(";")) {
    const equals = part.indexOf("=");
    if (equals >= 0 && part.slice(0, equals).trim() === name) return part.slice(equals + 1).trim();
  }
  return undefined;
}
