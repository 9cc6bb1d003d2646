import { calledHost, validHost } from "../../core/http/host.ts";
import type { Asked } from "./scope.ts";

/** What `redirects.to` says, taken apart. */
export interface Target {
  /** Undefined for a path on the host that was asked. */
  readonly scheme: "http" | "https" | undefined;
  /** With a port where there is one; `$host` stands for the host that was asked, without its port. */
  readonly authority: string | undefined;
  readonly path: readonly Part[];
  readonly query: readonly Part[];
  readonly fragment: readonly Part[];
}

/** A piece of text as it stands, or what `$` names. */
export type Part = string | { readonly name: string };

/** A `Location`, and what it is of. */
export interface Location {
  readonly text: string;
  readonly scheme: "http" | "https";
  readonly host: string;
}

/**
 * Takes a target apart: a path, or a whole address whose host is plain text or `$host`. What is captured can only stand behind the slash
 * that follows a host, so that no request can choose where it leads.
 *
 * @throws Error that says what was expected
 */
export function parseTarget(text: string, names: readonly string[]): Target {
  if (!/^[\x21-\x7e]+$/.test(text) || /["<>\\^`|]/.test(text)) {
    throw new Error("expected an address or a path, without spaces");
  }
  const whole = /^(https?):\/\/(\$host(?::\d{1,5})?|[^/?#$]*)([^]*)$/.exec(text);
  const authority = whole?.[2], rest = whole?.[3] ?? text;
  if (authority !== undefined && !validHost(authority.replace("$host", "host"))) {
    throw new Error("expected a host in plain text, or $host");
  }
  if (!/^(?:\/(?!\/)|\$path\b|\$\{path\})/.test(rest) && !(authority !== undefined && rest === "")) {
    throw new Error('expected "http://", "https://", "/" or "$path" in front, and one "/" or "$path" after a host');
  }
  const [, path = "", query = "", fragment = ""] = /^([^?#]*)(?:\?([^#]*))?(?:#([^]*))?$/.exec(rest)!;
  const known = ["path", "host", ...names];
  const parts = (piece: string) => partsOf(piece, known);
  const scheme = whole?.[1] as Target["scheme"];
  return { scheme, authority, path: parts(path), query: parts(query), fragment: parts(fragment) };
}

function partsOf(text: string, known: readonly string[]): Part[] {
  return text.split(/(\$\$|\$\w+|\$\{\w+\}|\$)/).filter((part) => part !== "").map((part) => {
    if (!part.startsWith("$")) return part;
    if (part === "$$") return "$";
    const name = part.replace(/[${}]/g, "");
    if (known.includes(name)) return { name };
    throw new Error(
      `nothing is named ${part} here; there is ${known.map((one) => `$${one}`).join(", ")}, and $$ for a $`,
    );
  });
}

/** A canonical path as it may stand in a header: nothing in it ends a line, a path or a host. */
export function encodePath(path: string): string {
  return encodeURI(path.toWellFormed()).replace(/[?#]/g, encodeURIComponent);
}

/** A query as the client wrote it, fit for a header. */
export function encodeQuery(query: string): string {
  return query.toWellFormed().replace(/[^\x21-\x7e]/gu, encodeURIComponent);
}

/** Builds the `Location`; undefined when the request names no host, and one is needed. */
export function locationOf(
  target: Target,
  x: Asked,
  captured: ReadonlyMap<string, string>,
  keepQuery: boolean,
): Location | undefined {
  const host = calledHost(x.host);
  if (target.authority?.startsWith("$host") && host === "") return undefined;
  const fill = (parts: readonly Part[], encode: (text: string) => string) =>
    parts.map((part) => {
      if (typeof part === "string") return part;
      return encode(part.name === "path" ? x.path : part.name === "host" ? host : captured.get(part.name) ?? "");
    }).join("");
  const component = (text: string) => encodeURIComponent(text.toWellFormed());
  // Two slashes in front would name another host.
  let text = fill(target.path, encodePath).replace(/^\/*/, "/");
  const query = [fill(target.query, component), keepQuery ? encodeQuery(x.query) : ""].filter((part) => part !== "");
  if (query.length > 0) text += `?${query.join("&")}`;
  if (target.fragment.length > 0) text += `#${fill(target.fragment, component)}`;
  if (target.authority === undefined) return { text, scheme: x.scheme, host: x.host };
  const authority = target.authority.replace("$host", () => host), scheme = target.scheme!;
  return { text: `${scheme}://${authority}${text}`, scheme, host: authority };
}
