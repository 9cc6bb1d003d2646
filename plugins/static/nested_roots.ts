/** Public roots that lie within those of other sites, which so have what is in them. @module */
import { realpathSync } from "node:fs";
import { sep } from "node:path";
import type { VirtualHost } from "../../core/contracts/site.ts";
import { classify } from "./path.ts";

/** One site's files that another sends. */
export interface Nested {
  readonly inner: VirtualHost;
  readonly outer: VirtualHost;
  /** Where they are in the outer site. */
  readonly path: string;
}

/**
 * Finds the public roots that can be reached within that of another site. Sites that share one root are meant to.
 *
 * @param closed whether nobody gets a path of a site
 */
export function nestedRoots(
  hosts: readonly VirtualHost[],
  closed: (path: string, host: VirtualHost) => boolean,
): readonly Nested[] {
  const roots = hosts.flatMap((host) => {
    const folder = realFolder(host.publicRoot);
    return folder === undefined ? [] : [{ host, folder }];
  });
  return roots.flatMap(({ host: outer, folder }) =>
    roots.flatMap(({ host: inner, folder: below }) => {
      if (!below.startsWith(folder + sep)) return [];
      const path = below.slice(folder.length).replaceAll(sep, "/");
      const some = `${path}/x`;
      return classify(some) === "hidden" || closed(some, outer) ? [] : [{ inner, outer, path }];
    })
  );
}

/** Without a slash at its end. */
function realFolder(path: string | undefined): string | undefined {
  try {
    return path === undefined ? undefined : realpathSync(path).replace(/[/\\]$/, "");
  } catch {
    return undefined;
  }
}
