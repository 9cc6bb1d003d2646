import { capturePattern } from "./capture_pattern.ts";
import { encodePath, encodeQuery, type Location, locationOf, parseTarget, type Target } from "./location.ts";
import { type Asked, hostTest } from "./scope.ts";

/** One `[[site.redirects]]`. */
export interface RedirectRule {
  readonly from: string;
  readonly host?: readonly string[] | undefined;
  readonly scheme?: "http" | "https" | undefined;
  readonly to: string;
  readonly status: 301 | 302 | 303 | 307 | 308;
  /** Whether the query goes along. */
  readonly query: boolean;
}

/** Where a request is sent. */
export interface Redirect extends Location {
  readonly status: number;
  /** Whether it leads from http to https: then it comes before any password. */
  readonly secures: boolean;
}

interface Compiled extends RedirectRule {
  readonly index: number;
  readonly regexp: RegExp | undefined;
  readonly names: readonly string[];
  readonly target: Target;
  readonly hosts: (host: string) => boolean;
}

/** The redirects of a site: the first rule that matches counts. Paths without wildcards are found at once, however many there are. */
export class Redirects {
  readonly #exact = new Map<string, Compiled[]>();
  readonly #patterns: Compiled[] = [];

  /** @throws Error where {@linkcode parseTarget} does */
  constructor(rules: readonly RedirectRule[]) {
    rules.forEach((rule, index) => {
      const { regexp, names } = capturePattern(rule.from);
      const target = parseTarget(rule.to, names);
      const compiled = { ...rule, index, regexp, names, target, hosts: hostTest(rule.host) };
      if (regexp !== undefined) return void this.#patterns.push(compiled);
      const others = this.#exact.get(rule.from);
      if (others === undefined) this.#exact.set(rule.from, [compiled]);
      else others.push(compiled);
    });
  }

  /** Where the request is sent; undefined when no rule sends it anywhere but where it is. */
  find(x: Asked): Redirect | undefined {
    const exact = this.#exact.get(x.path);
    let at = 0;
    if (exact !== undefined) {
      for (const rule of exact) {
        for (; at < this.#patterns.length && this.#patterns[at]!.index < rule.index; at++) {
          const found = redirect(this.#patterns[at]!, x);
          if (found !== undefined) return found;
        }
        const found = redirect(rule, x);
        if (found !== undefined) return found;
      }
    }
    for (; at < this.#patterns.length; at++) {
      const found = redirect(this.#patterns[at]!, x);
      if (found !== undefined) return found;
    }
    return undefined;
  }
}

function redirect(rule: Compiled, x: Asked): Redirect | undefined {
  if (rule.scheme !== undefined && rule.scheme !== x.scheme) return undefined;
  if (!rule.hosts(x.host)) return undefined;
  const captured = new Map<string, string>();
  if (rule.regexp !== undefined) {
    const match = rule.regexp.exec(x.path);
    if (match === null) return undefined;
    rule.names.forEach((name, i) => captured.set(name, match[i + 1] ?? ""));
  }
  const location = locationOf(rule.target, x, captured, rule.query);
  if (location === undefined || isItself(location, x)) return undefined;
  return { ...location, status: rule.status, secures: x.scheme === "http" && location.scheme === "https" };
}

/** Whether a client that follows would ask for the same again. */
function isItself({ text, scheme, host }: Location, x: Asked): boolean {
  if (scheme !== x.scheme || origin(scheme, host) !== origin(x.scheme, x.host)) return false;
  const own = encodePath(x.path) + (x.query === "" ? "" : `?${encodeQuery(x.query)}`);
  return text.replace(/^https?:\/\/[^/]*/, "").replace(/#.*$/s, "") === own;
}

function origin(scheme: string, host: string): string {
  return host.toLowerCase().replace(scheme === "http" ? /\.?(?::80)?$/ : /\.?(?::443)?$/, "");
}
