/** Where a value stands in the configuration: keys of tables and indexes of arrays. */
export type Path = readonly (string | number)[];

export type TomlTable = Readonly<Record<string, unknown>>;

/** Whether a value is a table: a plain object, neither array nor date. */
export function isTable(value: unknown): value is TomlTable {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

/** A path as people write it: `bulkhead.routes[1].name`. */
export function keyName(path: Path): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === "number") return `${text}[${part}]`;
    const key = /^[\w-]+$/.test(part) ? part : JSON.stringify(part);
    return text === "" ? key : `${text}.${key}`;
  }, "");
}

export function startsWith(path: Path, start: Path): boolean {
  return start.every((part, i) => path[i] === part);
}

export function getIn(root: unknown, path: Path): unknown {
  let node = root;
  for (const part of path) {
    if (typeof node !== "object" || node === null || !Object.hasOwn(node, part)) return undefined;
    node = (node as Record<string | number, unknown>)[part];
  }
  return node;
}

/** A copy of `node` with `value` at `path`; whatever is in the way and no table gives way. */
export function setIn(node: unknown, path: readonly string[], value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  return { ...(isTable(node) ? node : {}), [key]: setIn(getIn(node, [key]), rest, value) };
}
