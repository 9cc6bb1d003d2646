import type { Exchange } from "../../core/exchange.ts";
import { hostName } from "../../core/http/host.ts";
import { pathPattern } from "../../core/http/path_pattern.ts";
import type { PoolMatch } from "./config.ts";

/** Makes the test for the requests that a pool takes. `*` in a host stands for anything but a slash, dots included. */
export function poolMatcher({ host, path }: PoolMatch): (x: Pick<Exchange, "host" | "path">) => boolean {
  const paths = path?.map(pathPattern);
  const hosts = host?.map((name) => pathPattern(name.toLowerCase()));
  return (x) => {
    if (paths !== undefined && !paths.some((pattern) => pattern.test(x.path))) return false;
    if (hosts === undefined) return true;
    const name = `/${hostName(x.host).toLowerCase()}`;
    return hosts.some((pattern) => pattern.test(name));
  };
}
