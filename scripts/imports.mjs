// What a TypeScript source imports, and circles of that.
import { posix } from "node:path";

/** A source without its comments; those at the end of a line stay, for `//` may be in a string. */
export const withoutComments = (text) => text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");

/**
 * The imports of a source, in any order: `target` as it is written; `kind` is `value`, `type` (erased) or `call`, an `import()`,
 * which waits until it is asked.
 */
export function importsOf(text) {
  const code = withoutComments(text);
  // `from "..."` alone is no import: SQL in a string reads the same.
  const statements = /^\s*(?:import|export)\b(\s+type\b)?[^"'`;]*?\bfrom\s*(["'])([^"'\n]+)\2/gm;
  const bare = /^\s*import\s*(["'])([^"'\n]+)\1/gm, calls = /\bimport\s*\(\s*(["'])([^"'\n]+)\1/g;
  return [
    // `import { type A } from` loads its module, for nothing (verbatimModuleSyntax).
    ...Array.from(code.matchAll(statements), ([, type, , target]) => ({ target, kind: type ? "type" : "value" })),
    ...Array.from(code.matchAll(bare), ([, , target]) => ({ target, kind: "value" })),
    ...Array.from(code.matchAll(calls), ([, , target]) => ({ target, kind: "call" })),
  ].filter(({ target }) => !target.includes("${"));
}

/**
 * The circles among sources, given as path (with forward slashes) and text: the files of each in order; a file that is in any is in
 * at least one of them. What takes a value from a module that waits for it finds it, or not, by which of the two was loaded first;
 * types and `import()` close no circle.
 */
export function circles(sources) {
  const below = new Map();
  for (const [file, text] of sources) {
    const values = importsOf(text).filter(({ kind, target }) => kind === "value" && target.startsWith("."));
    const paths = values.map(({ target }) => posix.join(posix.dirname(file), target));
    below.set(file, paths.filter((path) => sources.has(path)));
  }
  const found = [], told = new Set();
  for (const file of [...below.keys()].sort()) {
    const circle = told.has(file) ? undefined : wayBack(file, below);
    if (circle === undefined) continue;
    found.push(circle);
    for (const one of circle) told.add(one);
  }
  return found;
}

/** The shortest way along imports from a file to itself, if there is one. */
function wayBack(start, below) {
  const ways = new Map([[start, [start]]]);
  for (const [file, way] of ways) {
    for (const next of below.get(file)) {
      if (next === start) return way;
      if (!ways.has(next)) ways.set(next, [...way, next]);
    }
  }
  return undefined;
}
