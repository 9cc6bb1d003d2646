import { CoreError } from "../error.ts";
import type { Awaitable } from "../plugin.ts";
import { type JsonSchema, keysAt, knownPaths } from "./json_schema.ts";

/** A value set from outside the file. */
export interface Override {
  readonly path: readonly string[];
  /** `env FAIRLEAD_PHP__WORKERS` or `file /run/secrets/password`. */
  readonly from: string;
  /** Set when the value came from a `_FILE`: never show it. */
  readonly secret: boolean;
  /** What the text may mean, the likelier first: the schema decides. */
  readonly readings: readonly unknown[];
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** Variables with the prefix that are no settings: the command line reads them. */
export const reserved: readonly string[] = ["FAIRLEAD_CONFIG"];

/** What Kubernetes sets in every pod beside a service named `fairlead`. */
const injected = /^FAIRLEAD_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d\w*)?)$/;

/** `php.workers` is `FAIRLEAD_PHP__WORKERS`. */
export function variableName(path: readonly string[]): string {
  return "FAIRLEAD_" + path.map((key) => key.toUpperCase().replace(/[^A-Z0-9]/g, "_")).join("__");
}

/**
 * Reads every `FAIRLEAD_*` variable, outer tables first. `__` goes one table down; arrays and tables are JSON;
 * `FAIRLEAD_X__PASSWORD_FILE` sets `x.password` to what the file holds, less one newline at the end. A name that is no
 * known key is read as lower case and left to validation. Throws `CONFIG_SECRET`.
 */
export async function readOverrides(
  env: Environment,
  schema: JsonSchema,
  readFile: (path: string) => Awaitable<string>,
): Promise<readonly Override[]> {
  const known = new Map(knownPaths(schema).map((path) => [variableName(path), path]));
  const overrides: Override[] = [];
  for (const [name, text] of Object.entries(env)) {
    if (!name.startsWith("FAIRLEAD_") || text === undefined || reserved.includes(name)) continue;
    if (injected.test(name) && !known.has(name)) continue;
    const plain = known.has(name) || isKey(schema, guess(name)) ? undefined : /^(.*[^_])_FILE$/.exec(name)?.[1];
    const target = plain ?? name;
    const path = known.get(target) ?? guess(target);
    if (plain === undefined) {
      overrides.push({ path, from: `env ${name}`, secret: false, readings: [...fromJson(text), text] });
      continue;
    }
    if (env[plain] !== undefined) throw new CoreError("CONFIG_SECRET", `Set either ${plain} or ${name}, not both`);
    const content = await readSecret(name, text, readFile);
    overrides.push({ path, from: `file ${text}`, secret: true, readings: [content, ...fromJson(content)] });
  }
  return overrides.sort((a, b) => a.path.length - b.path.length);
}

/** The path that a name stands for when its keys are in lower case. */
function guess(name: string): readonly string[] {
  return name.slice("FAIRLEAD_".length).toLowerCase().split("__");
}

/** Whether a path leads to a key, through tables whose names the user chose (`db.mysql.NAME.url`). */
function isKey(schema: JsonSchema, path: readonly string[]): boolean {
  return keysAt(schema, path.slice(0, -1)).includes(path.at(-1)!);
}

async function readSecret(name: string, file: string, readFile: (path: string) => Awaitable<string>): Promise<string> {
  try {
    return (await readFile(file)).replace(/\r?\n$/, "");
  } catch (cause) {
    throw new CoreError("CONFIG_SECRET", `Cannot read ${file}, named by ${name}: ${whyUnreadable(cause)}`, { cause });
  }
}

/** What a failed read of a file means, in words. */
export function whyUnreadable(cause: unknown): string {
  const { code, message } = cause as { code?: string; message?: string };
  const words: Record<string, string> = {
    ENOENT: "no such file",
    EACCES: "permission denied",
    EISDIR: "it is a folder",
  };
  return words[code ?? ""] ?? message ?? String(cause);
}

/** The text as a number, boolean, array or table, if it is one. */
function fromJson(text: string): unknown[] {
  try {
    const value: unknown = JSON.parse(text);
    return value === null || typeof value === "string" ? [] : [value];
  } catch {
    return [];
  }
}
