import { readFile as readFromDisk } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { CoreError } from "../error.ts";
import type { Awaitable } from "../plugin.ts";
import { parseToml } from "./toml_lines.ts";
import { isTable, keyName, type Path, type TomlTable } from "./path.ts";
import { whyUnreadable } from "./environment.ts";

export type ReadFile = (path: string) => Awaitable<string>;

/** The configuration file as it was written. */
export interface RawConfig {
  /** As the user named it; undefined when there is no file. */
  readonly file: string | undefined;
  /** The file's folder, or the working directory: relative paths in the configuration start here. */
  readonly baseDir: string;
  readonly value: TomlTable;
  line(path: Path): number | undefined;
}

/** A plugin named by the file: `[plugins.geo]` with `use = "./geo.ts"`. */
export interface ThirdParty {
  readonly name: string;
  readonly use: string;
  readonly line: number | undefined;
}

export const readText: ReadFile = (path) => readFromDisk(path, "utf8");

/** Reads the file, or stands in for one that is not there. Throws `CONFIG_MISSING` or `CONFIG_SYNTAX`. */
export async function parseConfigFile(file: string | undefined, readFile: ReadFile = readText): Promise<RawConfig> {
  if (file === undefined) return { file, baseDir: resolve("."), value: {}, line: () => undefined };
  const path = resolve(file);
  let text: string;
  try {
    text = await readFile(path);
  } catch (cause) {
    throw new CoreError("CONFIG_MISSING", `Cannot read ${path}: ${whyUnreadable(cause)}`, { cause });
  }
  const document = parseToml(text, file);
  return { file, baseDir: dirname(path), value: document.value, line: (path) => document.line(path) };
}

/**
 * The plugins to load before the file can be validated, but for those `given`. They come from the file only, never from
 * the environment.
 */
export function thirdParty(raw: RawConfig, given: readonly string[] = []): ThirdParty[] {
  const plugins = raw.value["plugins"] ?? {};
  const wrong = (path: Path, text: string) =>
    new CoreError("CONFIG_INVALID", `${place(raw, path)}${keyName(path)}: ${text}`);
  if (!isTable(plugins)) throw wrong(["plugins"], 'expected tables such as [plugins.geo] with use = "./geo.ts"');
  const named = Object.entries(plugins).filter(([name]) => !given.includes(name));
  return named.map(([name, table]) => {
    const use = isTable(table) ? table["use"] : undefined;
    const path = ["plugins", name];
    if (typeof use !== "string") throw wrong(path, 'expected a table with use = "./plugin.ts" (or "npm:package")');
    return { name, use, line: raw.line([...path, "use"]) };
  });
}

/** `fairlead.toml:12: `, as errors begin; empty where there is no file. */
export function place(raw: RawConfig, path: Path): string {
  const line = raw.line(path);
  return raw.file === undefined ? "" : `${raw.file}${line === undefined ? "" : `:${line}`}: `;
}
