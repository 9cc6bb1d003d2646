/**
 * What a request says beside its body, before a codec writes it.
 *
 * @module
 */
import type { Exchange } from "../../../core/exchange.ts";
import { headerVariable } from "../header_names.ts";
import { remoteAddress } from "../remote_address.ts";
import type { FrameBody } from "./body.ts";
import { asciiUri } from "./text.ts";

/** Values are byte strings unless noted. */
export interface RequestContext {
  /** ASCII, without a port. */
  readonly remoteAddr: string;
  readonly protocol: string;
  readonly method: string;
  /** Absolute, ASCII. */
  readonly uri: string;
  /** ASCII. */
  readonly rawQuery: string;
  /** Names are ASCII and unique. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Names are unique. */
  readonly cookies: readonly (readonly [name: string, value: string])[];
  readonly parsed: boolean;
  /** A tree in JSON. */
  readonly uploads: string | undefined;
  /** Text. */
  readonly attributes: Readonly<Record<string, string>>;
}

const noAttributes: Readonly<Record<string, string>> = {};
const noCookies: readonly (readonly [string, string])[] = [];

export function requestContext(
  x: Exchange,
  body: Pick<FrameBody, "parsed" | "uploads">,
  attributes: Readonly<Record<string, string>> = noAttributes,
): RequestContext {
  const authority = x.host === "" ? `${x.local.address || "localhost"}:${x.local.port || 80}` : x.host;
  const headers: (readonly [string, string])[] = [];
  if (x.host !== "") headers.push(["Host", x.host]);
  let cookies = noCookies;
  x.headers.forEach((value, name) => {
    const field = fieldName(name);
    if (field === "") return;
    headers.push([field, value]);
    if (field === "Cookie") cookies = readCookies(value);
  });
  return {
    remoteAddr: remoteAddress(x, "127.0.0.1"),
    protocol: x.protocol,
    method: x.method,
    uri: asciiUri(`${x.scheme}://${authority}${x.target.startsWith("/") ? x.target : "/"}`),
    rawQuery: asciiUri(x.query),
    headers,
    cookies,
    parsed: body.parsed,
    uploads: body.uploads,
    attributes,
  };
}

const known = new Map<string, string>();
const knownLimit = 1000;

/**
 * `accept-language` to `Accept-Language`, as RoadRunner's workers see names; empty for a field that must not reach PHP, and
 * for a name that PHP would take for a number: workers drop it, or fail.
 */
function fieldName(name: string): string {
  let field = known.get(name);
  if (field !== undefined) return field;
  field = headerVariable(name) === "" || /^(?:0|-?[1-9]\d*)$/.test(name)
    ? ""
    : name.toLowerCase().replace(/(?:^|-)[a-z]/g, (start) => start.toUpperCase());
  if (known.size < knownLimit) known.set(name, field);
  return field;
}

/** As PHP reads cookies: of two with one name the first counts, which is the more specific one; `+` stays. */
function readCookies(header: string): readonly (readonly [name: string, value: string])[] {
  const cookies = new Map<string, string>();
  for (const part of header.split(";")) {
    const equals = part.indexOf("=");
    const name = (equals < 0 ? part : part.slice(0, equals)).trim();
    if (name === "" || cookies.has(name)) continue;
    cookies.set(name, equals < 0 ? "" : unescaped(part.slice(equals + 1).trim()));
  }
  return [...cookies];
}

function unescaped(value: string): string {
  return value.includes("%")
    ? value.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
    : value;
}
