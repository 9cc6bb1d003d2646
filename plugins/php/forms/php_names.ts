/**
 * `$_POST` and `$_FILES` as PHP builds them from a form (`php_variables.c`, `rfc1867.c`). PHP workers do this in PHP; here it
 * serves tests, and protocols that send what is already built.
 *
 * @module
 */
import type { FormPart } from "../worker/body.ts";
import { PhpArray, type PhpValue } from "./php_array.ts";

export interface PhpForm {
  readonly post: PhpArray;
  readonly files: PhpArray;
}

/** `max_input_nesting_level`; `max_input_vars` is the parser's. */
export function phpForm(parts: readonly FormPart[], maxNesting = 64): PhpForm {
  const post = new PhpArray();
  const files = new PhpArray();
  const guarded = new Set<string>();
  for (const part of parts) {
    if (part.kind === "file") addFile(files, part, guarded, maxNesting);
    else register(post, part.name, part.value, maxNesting);
  }
  return { post, files };
}

/**
 * Puts a value under the name of a field: `a.b` and `a b` are `a_b`, `a[x][]` goes into arrays and appends, an unclosed `[` is
 * `_`, a name without a first part is nothing, one nested too deep takes its whole array away.
 */
export function register(into: PhpArray, name: string, value: PhpValue, maxNesting = 64): void {
  const given = name.replace(/^ +/, "");
  const bracket = given.indexOf("[");
  const first = (bracket < 0 ? given : given.slice(0, bracket)).replace(/[ .]/g, "_");
  if (first === "" || forged(first, given)) return;
  let array = into;
  let key: string | undefined = first;
  for (let at = bracket, depth = 1; at >= 0; depth++) {
    if (depth > maxNesting) {
      into.delete(first);
      return;
    }
    const inner = at + 1;
    const empty = isSpace(given[inner]) ? inner + 1 : inner;
    const end = given[empty] === "]" ? empty : given.indexOf("]", empty);
    if (end < 0) {
      // No index: as the first, it belongs to the name; a later one is left out.
      if (depth === 1) key = `${first}_${given.slice(inner).replace(/[ .[]/g, "_")}`;
      break;
    }
    array = inside(array, key);
    key = end === empty ? undefined : given.slice(inner, end);
    at = given[end + 1] === "[" ? end + 1 : -1;
  }
  if (key === undefined) array.append(value);
  else array.set(key, value);
}

/** The array under the key; what else is there makes place. */
function inside(array: PhpArray, key: string | undefined): PhpArray {
  const there = key === undefined ? undefined : array.get(key);
  if (there instanceof PhpArray) return there;
  const fresh = new PhpArray();
  if (key === undefined) array.append(fresh);
  else array.set(key, fresh);
  return fresh;
}

/** Names that only become cookie prefixes by having been changed. */
function forged(changed: string, given: string): boolean {
  return ["__Host-", "__Secure-"].some((prefix) => changed.startsWith(prefix) && !given.startsWith(prefix));
}

/**
 * Each property is a variable of its own, with the index of the name behind it.
 *
 * @param guarded names of files so far, which no property of another may take
 */
function addFile(
  files: PhpArray,
  part: Extract<FormPart, { kind: "file" }>,
  guarded: Set<string>,
  maxNesting: number,
): void {
  const name = plain(part.name);
  const bracket = name.indexOf("[");
  const base = bracket < 0 ? name : name.slice(0, bracket);
  const index = name.slice(base.length);
  const put = (property: string, value: string | number) => {
    const variable = `${base}[${property}]${index}`;
    if (property === "tmp_name") guarded.add(variable);
    else if (guarded.has(variable)) return;
    register(files, variable, value, maxNesting);
  };
  guarded.add(name);
  put("name", part.filename.slice(Math.max(part.filename.lastIndexOf("/"), part.filename.lastIndexOf("\\")) + 1));
  put("full_path", part.filename);
  put("type", part.mime);
  put("tmp_name", part.path);
  put("error", part.error);
  put("size", part.size);
}

/** Unlike in the names of fields, all space in front of an index goes. */
function plain(name: string): string {
  const given = name.replace(/^ +/, "");
  const bracket = given.indexOf("[");
  if (bracket < 0) return given.replace(/[ .]/g, "_");
  return given.slice(0, bracket).replace(/[ .]/g, "_") + given.slice(bracket).replace(/\[[ \t\r\n]+/g, "[");
}

function isSpace(char: string | undefined): boolean {
  return char !== undefined && /^[ \t\n\v\f\r]$/.test(char);
}
