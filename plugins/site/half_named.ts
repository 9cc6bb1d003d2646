import type { VirtualHost } from "../../core/contracts/site.ts";
import { hostTest } from "./scope.ts";

/**
 * Says which rules of access name a site of `server.hosts` by some of its names and not by others: by these it is open to whom the rule
 * would keep out.
 */
export function halfNamed(
  rules: readonly { readonly host?: readonly string[] | undefined }[],
  virtualHosts: readonly VirtualHost[],
): string[] {
  return rules.flatMap(({ host }, i) => {
    const test = hostTest(host);
    return virtualHosts.flatMap(({ names }) => {
      const missing = names.filter((name) => !test(name));
      if (missing.length === 0 || missing.length === names.length) return [];
      const named = names.find(test);
      return [
        `site.access[${i}].host has ${named} and not ${
          missing.join(", ")
        }, the same site: by that name the rule does not count`,
      ];
    });
  });
}
