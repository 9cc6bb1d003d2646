import { resolve } from "node:path";
import { pathPattern } from "../http/path_pattern.ts";

/** Folders that are large, or written to by the application itself; watched only where a pattern names them. */
const impolite = ["node_modules", "vendor", ".git", "var", "storage"];

/** What is watched, as questions to absolute paths. */
export interface WatchRules {
  /** Folders in which the patterns begin. They may not exist. */
  readonly roots: readonly string[];
  matches(file: string): boolean;
  /** Whether there may be matching files below a folder that lies below a root. */
  enters(folder: string): boolean;
}

interface Rule {
  readonly base: string;
  /** Levels of folders below the base that matter. */
  readonly depth: number;
  readonly ignored: ReadonlySet<string>;
  readonly pattern: RegExp;
}

/**
 * Compiles patterns: `app/**` + `/*.php`, `config/*.{php,yaml}`, `.env`, or a folder, which means all below it. Folders named
 * `node_modules`, `vendor`, `.git`, `var` and `storage` are left out unless the pattern names them.
 *
 * @param root what relative patterns are relative to
 * @param ignore names of further folders to leave out
 */
export function watchRules(root: string, patterns: readonly string[], ignore: readonly string[] = []): WatchRules {
  const without = [...impolite, ...ignore];
  const absolute = patterns.flatMap(braces).map((pattern) => resolve(root, pattern));
  const rules = absolute.flatMap((pattern) => rulesOf(pattern, without));
  return {
    roots: [...new Set(rules.map(({ base }) => base))],
    matches: (file) => rules.some((rule) => rule.pattern.test(file) && foldersBelow(rule, file, 1) !== undefined),
    enters: (folder) =>
      rules.some((rule) => {
        const below = foldersBelow(rule, folder, 0);
        return below !== undefined && below <= rule.depth;
      }),
  };
}

/** `a.{b,c}` is `a.b` and `a.c`. */
function braces(pattern: string): string[] {
  const found = /\{([^{}]*)\}/.exec(pattern);
  if (found === null) return [pattern];
  const [group, names] = found;
  return names!.split(",").flatMap((name) =>
    braces(pattern.slice(0, found.index) + name + pattern.slice(found.index + group.length))
  );
}

function rulesOf(pattern: string, without: readonly string[]): Rule[] {
  const segments = pattern.split("/");
  const wild = segments.findIndex((segment) => /[*?]/.test(segment));
  // A plain path is a file, or a folder with all that is in it.
  if (wild < 0) {
    return [
      rule(segments, segments.length - 1, without),
      rule([...segments, "**"], segments.length, without),
    ];
  }
  return [rule(segments, wild, without)];
}

function rule(segments: readonly string[], wild: number, without: readonly string[]): Rule {
  const named = new Set(segments.slice(wild));
  return {
    base: segments.slice(0, wild).join("/") || "/",
    depth: segments.includes("**") ? Infinity : segments.length - wild - 1,
    ignored: new Set(without.filter((name) => !named.has(name))),
    pattern: pathPattern(segments.join("/")),
  };
}

/** How many folders lie between the base and a path, or undefined when it is not below, or below an ignored one. */
function foldersBelow({ base, ignored }: Rule, path: string, last: 0 | 1): number | undefined {
  if (path === base) return 0;
  const start = base === "/" ? 1 : base.length + 1;
  if (!path.startsWith(base) || path[start - 1] !== "/") return undefined;
  const below = path.slice(start).split("/");
  const folders = last === 1 ? below.slice(0, -1) : below;
  return folders.some((name) => ignored.has(name)) ? undefined : folders.length;
}
