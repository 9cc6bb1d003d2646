import type { Exchange } from "../../core/exchange.ts";
import { pathPattern } from "../../core/http/path_pattern.ts";
import { TrustedProxies } from "../../core/http/proxies.ts";
import { readings } from "./readings.ts";
import { hostTest } from "./scope.ts";

/** What rules look at. */
export type Entering = Pick<Exchange, "path" | "target" | "host">;

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

/** In no list but that of all. */
const nowhere = "unknown";

const pass: Decision<never> = { kind: "pass", auth: undefined };
const refuse: Decision<never> = { kind: "refuse" };

/** Who is let in by both. Nobody is by two passwords, for a client says one. */
function stricter<A>(one: Decision<A>, other: Decision<A>): Decision<A> {
  if (one.kind === "refuse" || other.kind === "pass") return one;
  if (other.kind === "refuse" || one.kind === "pass") return other;
  return one.auth === other.auth ? one : refuse;
}

/**
 * Returns what decides about a request by the first rule that matches it; without one it passes. Where an application may read another
 * path out of it, an earlier rule for that one must let it in too; and any rule when the request is odd.
 *
 * @returns takes the client's address, undefined when it cannot be told: then it is in no list, but where somebody is denied it is too
 */
export function accessRules<A>(
  rules: readonly AccessRule<A>[],
): (x: Entering, address: () => string | undefined) => Decision<A> {
  const compiled = rules.map(({ match, host, allow, deny, auth, satisfy }) => {
    const allowed = allow === undefined ? undefined : addressTest(allow);
    const denied = deny === undefined ? undefined : addressTest(deny);
    const passed: Decision<A> = auth === undefined ? pass : { kind: "pass", auth };
    const ask: Decision<A> = auth === undefined ? pass : { kind: "ask", auth };
    const byAddress = allowed !== undefined || denied !== undefined;
    return {
      paths: covers(match),
      hosts: hostTest(host),
      decide(address: () => string | undefined): Decision<A> {
        if (!byAddress) return ask;
        const from = address();
        const known = from !== undefined;
        const unwanted = denied !== undefined && (!known || denied(from));
        const welcome = !unwanted && (allowed === undefined || allowed(known ? from : nowhere));
        if (satisfy === "any" && auth !== undefined) return welcome ? passed : ask;
        return welcome ? ask : refuse;
      },
    };
  });
  return (x, address) => {
    const first = (path: string) => compiled.findIndex(({ paths, hosts }) => paths(path) && hosts(x.host));
    const own = first(x.path);
    let decision: Decision<A> = own < 0 ? pass : compiled[own]!.decide(address);
    for (const { path, odd } of readings(x)) {
      const at = first(path);
      if (at >= 0 && (odd || own < 0 || at < own)) decision = stricter(decision, compiled[at]!.decide(address));
    }
    return decision;
  };
}
