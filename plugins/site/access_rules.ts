import { pathPattern } from "../../core/http/path_pattern.ts";
import { TrustedProxies } from "../../core/http/proxies.ts";
import { type Asked, hostTest } from "./scope.ts";

/** One `[[site.access]]`. */
export interface AccessRule<A> {
  readonly match: string;
  readonly host?: readonly string[] | undefined;
  /** Addresses and ranges, `all`, or `unix` for clients of a unix socket whom no proxy names. */
  readonly allow?: readonly string[] | undefined;
  /** Counts before `allow`. */
  readonly deny?: readonly string[] | undefined;
  readonly auth?: A | undefined;
  readonly satisfy: "all" | "any";
}

/** What is to be done with a request: let in, turn away, or ask for a password. */
export type Decision<A> =
  | { readonly kind: "pass"; readonly auth: A | undefined }
  | { readonly kind: "refuse" }
  | { readonly kind: "ask"; readonly auth: A };

/**
 * Tells whether a pattern covers a path: by matching it, or something that it lies below. Who closes `/admin` means `/admin/`,
 * `/admin/users` and, where it is a script, the path that follows its name.
 */
export function covers(pattern: string): (path: string) => boolean {
  const base = pattern.replace(/\/(?:\*\*)?$/, "");
  const itself = pathPattern(base), below = pathPattern(`${base}/**`);
  return (path) => itself.test(path) || below.test(path);
}

/** Whether an address is among those named. */
export function addressTest(list: readonly string[]): (address: string) => boolean {
  if (list.includes("all")) return () => true;
  const named = new TrustedProxies(list);
  // A link-local address comes with the link that it is local to.
  return (address) => named.trusts(address.replace(/%.*$/s, ""));
}

const pass: Decision<never> = { kind: "pass", auth: undefined };
const refuse: Decision<never> = { kind: "refuse" };

/** Returns what decides about a request by the first rule that matches it; without one it passes. */
export function accessRules<A>(
  rules: readonly AccessRule<A>[],
): (x: Asked, address: () => string) => Decision<A> {
  const compiled = rules.map(({ match, host, allow, deny, auth, satisfy }) => {
    const allowed = allow === undefined ? undefined : addressTest(allow);
    const denied = deny === undefined ? undefined : addressTest(deny);
    const passed: Decision<A> = auth === undefined ? pass : { kind: "pass", auth };
    const ask: Decision<A> = auth === undefined ? pass : { kind: "ask", auth };
    const byAddress = allowed !== undefined || denied !== undefined;
    return {
      paths: covers(match),
      hosts: hostTest(host),
      decide(address: () => string): Decision<A> {
        if (!byAddress) return ask;
        const from = address();
        const welcome = !(denied?.(from) ?? false) && (allowed?.(from) ?? true);
        if (satisfy === "any" && auth !== undefined) return welcome ? passed : ask;
        return welcome ? ask : refuse;
      },
    };
  });
  return (x, address) => {
    const rule = compiled.find(({ paths, hosts }) => paths(x.path) && hosts(x.host));
    return rule === undefined ? pass : rule.decide(address);
  };
}
