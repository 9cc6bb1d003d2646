import { stringify } from "smol-toml";
import { keyName } from "../core/config/path.ts";
import type { Setting } from "../core/config/settings.ts";

/**
 * The effective configuration as TOML, each line with where its value came from. Secrets are masked.
 *
 * @example
 * ```toml
 * [php]
 * workers = 4        # fairlead.toml:2
 * timeout = "30s"    # default
 * ```
 */
export function explainConfig(config: { readonly settings: readonly Setting[] }): string {
  const rows = config.settings.map(({ path, value, from }) => {
    const parent = path.slice(0, -1);
    const names = keyName(parent.filter((part) => typeof part === "string"));
    const header = typeof parent.at(-1) === "number" ? `[[${names}]]` : `[${names}]`;
    return { header, parent: keyName(parent), line: stringify({ [path.at(-1)!]: value }).trimEnd(), from };
  });
  const width = Math.max(...rows.map(({ line }) => line.length).filter((length) => length <= 50), 0);
  return rows.map(({ header, parent, line, from }, i) => {
    const text = `${line.padEnd(width)}  # ${from}\n`;
    return parent === rows[i - 1]?.parent ? text : `${i > 0 ? "\n" : ""}${header}\n${text}`;
  }).join("");
}
