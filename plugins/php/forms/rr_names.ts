/**
 * Forms as RoadRunner hands them to its workers: a tree of the fields and one of the files. Its rules for names are not
 * PHP's: dots stay, spaces vanish, `[]` makes a list only at the end, and a name cannot be a value and a tree at once.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import type { FormPart } from "../worker/body.ts";
import { malformed } from "./limits.ts";

/** A level of the tree. */
export type RrTree<T> = Map<string, RrNode<T>>;
export type RrNode<T> = { readonly leaf: T } | { readonly list: T[] } | { readonly tree: RrTree<T> };

/** A file as PSR-7 workers read it. */
export interface RrUpload {
  readonly name: string;
  readonly mime: string;
  readonly size: number;
  readonly error: number;
  readonly tmpName: string;
}

export interface RrForm {
  /** A JSON object of the fields: the payload's body, with `parsed` true. */
  readonly body: string;
  /** A JSON object of the files, or undefined when there are none. */
  readonly uploads: string | undefined;
}

const maxDepth = 127;

/** @throws `FORM_MALFORMED` (400) */
export function rrForm(parts: readonly FormPart[]): RrForm {
  const fields: RrTree<string> = new Map();
  const files: RrTree<RrUpload> = new Map();
  for (const part of parts) {
    if (part.kind === "field") mount(fields, part.name, utf8(part.value));
    else mount(files, part.name, upload(part));
  }
  return { body: json(fields), uploads: files.size === 0 ? undefined : json(files) };
}

/**
 * Puts a value under a name: a later value replaces one that is no list.
 *
 * @throws `FORM_MALFORMED` (400) where the name clashes with an earlier one, or is nested over 127 deep
 */
export function mount<T>(root: RrTree<T>, name: string, value: T): void {
  const keys = keysOf(name);
  if (keys.length > maxDepth) throw malformed(`the name of a field is nested over ${maxDepth} deep`);
  const list = keys.length > 1 && keys.at(-1) === "";
  if (list) keys.pop();
  const last = keys.pop()!;
  let tree = root;
  for (const key of keys) {
    let node = tree.get(key);
    if (node === undefined) tree.set(key, node = { tree: new Map() });
    if (!("tree" in node)) throw clash(name);
    tree = node.tree;
  }
  const there = tree.get(last);
  if (there === undefined) tree.set(last, list ? { list: [value] } : { leaf: value });
  else if (list && "list" in there) there.list.push(value);
  else if (!list && "leaf" in there) tree.set(last, { leaf: value });
  else throw clash(name);
}

/** `a[b][]` is `a`, `b` and an empty key. Spaces are left out. */
function keysOf(name: string): string[] {
  const keys = [""];
  /** After `[` nothing has been read of the index yet; after `]` it is closed. */
  let after: "text" | "[" | "]" = "text";
  for (const char of utf8(name)) {
    if (char === " ") continue;
    if (char === "[") {
      after = "[";
    } else if (char === "]") {
      if (after === "[") keys.push("");
      if (keys.length > maxDepth) break;
      after = "]";
    } else {
      if (after !== "text") keys.push("");
      keys[keys.length - 1] += char;
      after = "text";
    }
  }
  return keys;
}

function clash(name: string) {
  return malformed(`the field ${JSON.stringify(utf8(name))} is a value and an array at once`);
}

function upload(part: Extract<FormPart, { kind: "file" }>): RrUpload {
  const name = utf8(part.filename);
  return {
    name: name.slice(name.lastIndexOf("/") + 1),
    mime: utf8(part.mime),
    size: part.size,
    error: part.error,
    tmpName: part.path,
  };
}

/** By hand: no key of an object is special, and their order stays. */
function json<T>(tree: RrTree<T>): string {
  const members = [...tree].map(([key, node]) => {
    const value = "tree" in node ? json(node.tree) : JSON.stringify("list" in node ? node.list : node.leaf);
    return `${JSON.stringify(key)}:${value}`;
  });
  return `{${members.join(",")}}`;
}

function utf8(bytes: string): string {
  return Buffer.from(bytes, "latin1").toString("utf8");
}
