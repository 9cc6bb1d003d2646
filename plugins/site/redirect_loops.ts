import { calledHost } from "../../core/http/host.ts";
import { canonicalPath, pathOf, queryOf } from "../../core/http/path.ts";
import { capturePattern } from "./capture_pattern.ts";
import { type RedirectRule, Redirects } from "./redirects.ts";
import { type Asked, hostTest } from "./scope.ts";

/** Browsers give up about here. */
const maxSteps = 20;
/** A host that no rule names. */
const elsewhere = "any.invalid";

/** A rule, by its place, whose redirects come to no end. */
export interface Loop {
  readonly rule: number;
  /** The addresses it goes through. */
  readonly trail: readonly string[];
}

/**
 * Follows every rule from a path that it matches, as a browser would, and returns those that come to no end. Where a redirect leads to a
 * host that no rule names the way ends: another server may have it.
 */
export function redirectLoops(rules: readonly RedirectRule[]): Loop[] {
  const redirects = new Redirects(rules);
  const patterns = rules.flatMap(({ host }) => host ?? []);
  const ours = patterns.length === 0 ? () => false : hostTest(patterns);
  const everywhere = [elsewhere, ...new Set(patterns.map(sampleHost))];
  const both = rules.some(({ scheme }) => scheme !== undefined) ? ["http", "https"] as const : ["http"] as const;
  return rules.flatMap((rule, i) => {
    const hosts = rule.host?.map(sampleHost) ?? everywhere;
    const schemes = rule.scheme === undefined ? both : [rule.scheme];
    const { sample: path } = capturePattern(rule.from);
    for (const host of hosts) {
      for (const scheme of schemes) {
        const trail = follow(redirects, ours, { path, host, scheme, query: "" });
        if (trail !== undefined) return [{ rule: i, trail }];
      }
    }
    return [];
  });
}

const sampleHost = (pattern: string) => pattern.replace(/[*?]+/g, "x");

/** The way from a request, when it has no end. */
function follow(redirects: Redirects, ours: (host: string) => boolean, from: Asked): string[] | undefined {
  const trail: string[] = [], seen = new Set<string>();
  for (let at = from;;) {
    trail.push(at.path);
    const key = `${at.scheme} ${at.host} ${at.path}?${at.query}`;
    if (seen.has(key) || trail.length > maxSteps) return trail;
    seen.add(key);
    const found = redirects.find(at);
    if (found === undefined) return undefined;
    if (calledHost(found.host) !== calledHost(at.host) && !ours(found.host)) return undefined;
    const target = found.text.replace(/^https?:\/\/[^/]*/, "");
    const path = canonicalPath(pathOf(target));
    if (path === undefined) return undefined;
    at = { path, host: found.host, scheme: found.scheme, query: queryOf(target) };
  }
}
