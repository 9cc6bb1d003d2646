/** Paths that nobody gets. @module */
import { pathPattern } from "../../core/http/path_pattern.ts";

/**
 * Returns what tells whether one of the patterns means a canonical path. `/data/**` means the folder `/data` itself too, so
 * that nobody is even sent on to it.
 */
export function denial(patterns: readonly string[]): (path: string) => boolean {
  const whole = patterns.flatMap((one) => one.endsWith("/**") ? [one, one.slice(0, -3)] : [one]);
  const compiled = whole.filter((one) => one !== "").map(pathPattern);
  return (path) => compiled.some((pattern) => pattern.test(path));
}
