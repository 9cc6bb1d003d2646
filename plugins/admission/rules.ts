/**
 * What is to become of a request at its gate, told from the request alone.
 *
 * @module
 */
import type { Criticality } from "../../core/contracts/gates.ts";
import { calledHost } from "../../core/http/host.ts";
import { pathPattern } from "../../core/http/path_pattern.ts";
import { hinted } from "./hints.ts";
import { type Asked, keyOf, type KeySource } from "./key_source.ts";

/** One `[[admission.rules]]`: what it matches (all that is named), and what it says of that. */
export interface Rule {
  /** Patterns as everywhere: `*` within a segment, `**` across. */
  readonly path?: readonly string[] | undefined;
  /** `*` stands for any part, dots included. The port does not count. */
  readonly host?: readonly string[] | undefined;
  readonly method?: readonly string[] | undefined;
  /** `NAME`: the header is there. `NAME: VALUE`: it is so, where `*` stands for anything. All must match. */
  readonly header?: readonly string[] | undefined;
  readonly class?: Criticality | undefined;
  readonly key?: KeySource | undefined;
  /** Permits that the request takes. */
  readonly weight?: number | undefined;
  /** It never waits and takes no permit. */
  readonly exempt?: boolean | undefined;
}

/** What a request is at a gate. */
export interface Terms {
  readonly criticality: Criticality;
  readonly key: string | undefined;
  readonly weight: number;
  readonly exempt: boolean;
}

export interface ClassifierOptions {
  readonly rules: readonly Rule[];
  /** Of requests whose rule names none. */
  readonly key: KeySource;
  /** Whether requests may lower their class themselves. */
  readonly hints: boolean;
}

const exempt: Terms = { criticality: "critical", key: undefined, weight: 1, exempt: true };

/**
 * Makes the function that tells what an exchange is at its gate. The first rule that matches counts, and what it leaves out is as
 * without a rule: `critical`, the usual key, one permit.
 *
 * @example
 * ```ts
 * const classify = classifier({ rules: [{ path: ["/api/**"], class: "critical_plus" }], key: { kind: "client" }, hints: true });
 * classify(x); // { criticality: "critical_plus", key: "a:203.0.113.7", weight: 1, exempt: false }
 * ```
 */
export function classifier({ rules, key, hints }: ClassifierOptions): (x: Asked) => Terms {
  const matchers = rules.map(matcher);
  return (x) => {
    const found = matchers.findIndex((matches) => matches(x));
    const rule = rules[found];
    if (rule?.exempt) return exempt;
    const own = rule?.class ?? "critical";
    return {
      criticality: hints ? hinted(x.headers, own) : own,
      key: keyOf(rule?.key ?? key, x, found < 0 ? undefined : found),
      weight: rule?.weight ?? 1,
      exempt: false,
    };
  };
}

function matcher({ path, host, method, header }: Rule): (x: Asked) => boolean {
  const paths = path?.map(pathPattern);
  const hosts = host?.map((name) => pathPattern(name.toLowerCase()));
  const methods = method?.map((name) => name.toUpperCase());
  const headers = header?.map(headerMatcher);
  return (x) => {
    if (paths !== undefined && !paths.some((pattern) => pattern.test(x.path))) return false;
    if (methods !== undefined && !methods.includes(x.method)) return false;
    if (hosts !== undefined) {
      const name = `/${calledHost(x.host)}`;
      if (!hosts.some((pattern) => pattern.test(name))) return false;
    }
    return headers === undefined || headers.every((matches) => matches(x.headers));
  };
}

function headerMatcher(text: string): (headers: Pick<Headers, "get">) => boolean {
  const colon = text.indexOf(":");
  if (colon < 0) return (headers) => headers.get(text.trim()) !== null;
  const name = text.slice(0, colon).trim();
  const parts = text.slice(colon + 1).trim().split("*").map((part) => part.replace(/[\\^$.+?()[\]{}|]/g, "\\$&"));
  const value = new RegExp(`^${parts.join(".*")}$`, "s");
  return (headers) => {
    const found = headers.get(name);
    return found !== null && value.test(found);
  };
}
