import type { Exchange } from "../../core/exchange.ts";
import { calledHost } from "../../core/http/host.ts";
import { pathPattern } from "../../core/http/path_pattern.ts";

/** What a rule looks at. */
export type Asked = Pick<Exchange, "path" | "host" | "scheme" | "query">;

/** Tells whether a host is among the patterns, where `*` stands for any part. Without patterns every one is. */
export function hostTest(patterns: readonly string[] | undefined): (host: string) => boolean {
  if (patterns === undefined) return () => true;
  const compiled = patterns.map((pattern) => pathPattern(pattern.toLowerCase().replace(/\.$/, "")));
  return (host) => {
    const name = `/${calledHost(host)}`;
    return compiled.some((pattern) => pattern.test(name));
  };
}
