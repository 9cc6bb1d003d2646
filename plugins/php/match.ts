import type { VirtualHost } from "../../core/contracts/site.ts";
import type { Exchange } from "../../core/exchange.ts";
import { calledHost } from "../../core/http/host.ts";
import { pathPattern } from "../../core/http/path_pattern.ts";
import type { PoolMatch } from "./config.ts";

/** What a pool looks at. */
type Asked = Pick<Exchange, "host" | "path" | "virtualHost">;

/**
 * Makes the test for the requests that a pool takes. `*` in a host stands for anything but a slash, dots included. The name of an entry
 * of `server.hosts` stands for its aliases, too, so that none of them is run by somebody else's processes.
 */
export function poolMatcher({ host, path }: PoolMatch): (x: Asked) => boolean {
  const paths = path?.map(pathPattern);
  const hosts = hostTest(host);
  return (x) => {
    if (paths !== undefined && !paths.some((pattern) => pattern.test(x.path))) return false;
    return hosts === undefined || hosts(calledHost(x.host)) || hosts(x.virtualHost.name);
  };
}

/** Whether a pool takes whatever is asked of a site, so that no later pool does. */
export function takesAll({ host, path }: PoolMatch, { name, names }: VirtualHost): boolean {
  const hosts = hostTest(host);
  return path === undefined && hosts !== undefined && names.length > 0 && (hosts(name) || names.every(hosts));
}

function hostTest(patterns: readonly string[] | undefined): ((name: string) => boolean) | undefined {
  const compiled = patterns?.map((name) => pathPattern(name.toLowerCase().replace(/\.$/, "")));
  return compiled && ((name) => name !== "" && compiled.some((pattern) => pattern.test(`/${name}`)));
}
