/** Cache rules: the first pattern that matches a path gives the value. @module */
import { pathPattern } from "../../core/http/path_pattern.ts";

/** One rule. */
export interface CacheRule {
  /** As {@linkcode pathPattern} reads it. */
  readonly match: string;
  /** The value of `Cache-Control`. */
  readonly value: string;
}

/** Returns what finds the `Cache-Control` value for a path. */
export function cacheControl(rules: readonly CacheRule[]): (path: string) => string | undefined {
  const compiled = rules.map((rule) => ({ pattern: pathPattern(rule.match), value: rule.value }));
  return (path) => compiled.find((rule) => rule.pattern.test(path))?.value;
}
