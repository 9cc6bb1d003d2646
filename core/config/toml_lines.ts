import { parse, TomlError } from "smol-toml";
import { CoreError } from "../error.ts";
import { isTable, type Path, type TomlTable } from "./path.ts";

export interface TomlDocument {
  readonly value: TomlTable;
  /** The line, from 1, on which a key, a table or an array's element begins; undefined when the text has none there. */
  line(path: Path): number | undefined;
}

/**
 * Parses TOML and keeps the line of each key. Throws `CONFIG_SYNTAX`; `file` is the name it gives.
 *
 * @example
 * ```ts
 * const doc = parseToml("[php]\nworkers = 4\n", "fairlead.toml");
 * doc.line(["php", "workers"]); // 2
 * ```
 */
export function parseToml(text: string, file: string): TomlDocument {
  try {
    const value = parse(text, { unsafeKeyBehaviour: "throw" });
    const lines = scan(text);
    return { value, line: (path) => lines.get(id(path)) };
  } catch (cause) {
    if (!(cause instanceof TomlError)) throw cause;
    const reason = cause.message.split("\n")[0]!.replace("Invalid TOML document: ", "")
      .replace(/^invalid value$/, "expected a value: a string in quotes, a number, true, false, an array or a table");
    throw new CoreError("CONFIG_SYNTAX", `${file}:${cause.line}:${cause.column}: ${reason}`, { cause });
  }
}

const id = (path: Path): string => JSON.stringify(path);

const STRING = String.raw`"(?:[^"\\]+|\\.)*"|'[^']*'`;
const LONG_STRING = String.raw`"""(?:[^"\\]+|\\[^]|"(?!""))*"{3,5}|'''(?:[^']+|'(?!''))*'{3,5}`;
const PART = String.raw`(?:${STRING}|[\w-]+)`;
const KEY = new RegExp(String.raw`${PART}(?:[ \t]*\.[ \t]*${PART})*`, "y");
const EQUALS = /\s*=\s*/y;
const OPEN = /\[\[?\s*/y;
const CLOSE = /\s*\]\]?/y;
const BRACKET = /[[\]{}]/y;
const SPACE = /(?:[\s,]|#[^\n]*)*/y;
const SCALAR = new RegExp(String.raw`${LONG_STRING}|${STRING}|\d{4}-\d\d-\d\d \d\d:[^\s,\]}#]+|[^\s,\]}#]+`, "y");

/** Finds the line of every key in a text the parser has accepted; that lets it skip all checks. */
function scan(text: string): ReadonlyMap<string, number> {
  const lines = new Map<string, number>();
  const counts = new Map<string, number>(); // tables so far in each [[array]]
  let at = 0;
  let line = 1;

  function take(token: RegExp): string {
    token.lastIndex = at;
    const found = token.exec(text)?.[0] ?? "";
    at = found === "" && token !== SPACE ? text.length : at + found.length; // never go round in circles
    line += found.split("\n").length - 1;
    return found;
  }

  function mark(path: Path): void {
    for (let n = 1; n < path.length; n++) {
      const parent = id(path.slice(0, n));
      if (!lines.has(parent)) lines.set(parent, line);
    }
    lines.set(id(path), line);
  }

  function header(): Path {
    const many = take(OPEN).startsWith("[[");
    const path: (string | number)[] = [];
    const keys = decode(take(KEY));
    keys.forEach((key, i) => {
      path.push(key);
      const count = counts.get(id(path));
      if (many && i === keys.length - 1) {
        counts.set(id(path), (count ?? 0) + 1);
        path.push(count ?? 0);
      } else if (count !== undefined) path.push(count - 1);
    });
    mark(path);
    take(CLOSE);
    return path;
  }

  function pair(table: Path): void {
    const path = [...table, ...decode(take(KEY))];
    mark(path);
    take(EQUALS);
    value(path);
  }

  function value(path: Path): void {
    const open = text[at];
    if (open !== "[" && open !== "{") return void take(SCALAR);
    take(BRACKET);
    for (let i = 0; take(SPACE), at < text.length && text[at] !== "]" && text[at] !== "}"; i++) {
      if (open === "{") pair(path);
      else {
        mark([...path, i]);
        value([...path, i]);
      }
    }
    take(BRACKET);
  }

  let table: Path = [];
  while (take(SPACE), at < text.length) {
    if (text[at] === "[") table = header();
    else pair(table);
  }
  return lines;
}

/** The parts of a dotted key, quotes and escapes undone: the parser knows how. */
function decode(key: string): string[] {
  const path: string[] = [];
  for (let node: unknown = parse(`${key} = 0`); isTable(node); node = node[path.at(-1)!]) {
    path.push(...Object.keys(node));
  }
  return path;
}
