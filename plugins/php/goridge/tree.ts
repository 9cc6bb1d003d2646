/**
 * Names with brackets, as forms have them, and the trees they make: `a[b][]` is a list in `b` in `a`.
 *
 * The rules are RoadRunner's, which its workers expect: spaces in names do not count, a name of more than 127 levels is
 * left out, a later value takes the place of an earlier one. Where its rules lose values that PHP itself keeps, PHP's hold:
 * `[]` before another bracket begins an element, and a list may have keys beside it.
 *
 * @module
 */
import { CoreError } from "../../../core/error.ts";

const MAX_LEVELS = 127;

/** A list or a map; leaves are JSON text. */
export class Branch {
  readonly #entries = new Map<string, Branch | string>();
  #next = 0;

  /**
   * Puts a value, already JSON, where its name says.
   *
   * @throws CoreError `FORM_NAMES_CLASH` (status 400) where one name wants a value and another a list in the same place
   */
  put(name: string, json: string): void {
    const keys = keysOf(name);
    if (keys.length > MAX_LEVELS || keys[0] === "") return;
    // deno-lint-ignore no-this-alias
    let branch: Branch = this;
    const last = keys.length - 1;
    for (let i = 0; i < last; i++) branch = branch.#branch(keys[i]!, name);
    branch.#leaf(keys[last]!, json, name);
  }

  #branch(key: string, name: string): Branch {
    const at = this.#key(key);
    const old = this.#entries.get(at);
    if (typeof old === "string") throw clash(name);
    if (old !== undefined) return old;
    const made = new Branch();
    this.#entries.set(at, made);
    return made;
  }

  #leaf(key: string, json: string, name: string): void {
    const at = this.#key(key);
    if (this.#entries.get(at) instanceof Branch) throw clash(name);
    this.#entries.set(at, json);
  }

  #key(key: string): string {
    if (key === "") return String(this.#next++);
    if (/^(?:0|[1-9]\d{0,14})$/.test(key)) this.#next = Math.max(this.#next, Number(key) + 1);
    return key;
  }

  /** A JSON object, or an array when the keys are those of a list. The order is that of the form. */
  toJson(): string {
    let list = true, i = 0;
    for (const key of this.#entries.keys()) {
      if (key !== String(i++)) {
        list = false;
        break;
      }
    }
    return list && i > 0 ? `[${[...this.#entries.values()].map(jsonOf).join()}]` : this.toObject();
  }

  /** A JSON object, whatever the keys. */
  toObject(): string {
    let out = "{";
    for (const [key, value] of this.#entries) {
      out += `${out.length > 1 ? "," : ""}${JSON.stringify(key)}:${jsonOf(value)}`;
    }
    return `${out}}`;
  }
}

function jsonOf(value: Branch | string): string {
  return typeof value === "string" ? value : value.toJson();
}

/** `a[b][]` to `a`, `b` and an empty key. */
function keysOf(name: string): string[] {
  if (!/[ [\]]/.test(name)) return [name];
  const keys = [""];
  let state: "key" | "open" | "closed" = "key";
  for (const char of name) {
    if (char === " ") continue;
    if (char === "[") state = "open";
    else if (char === "]") {
      if (state === "open") keys.push("");
      state = "closed";
    } else {
      if (state !== "key") keys.push("");
      keys[keys.length - 1] += char;
      state = "key";
    }
    if (keys.length > MAX_LEVELS) break;
  }
  return keys;
}

function clash(name: string): CoreError {
  const text = JSON.stringify(name.slice(0, 80));
  return new CoreError("FORM_NAMES_CLASH", `Expected a form field to be a value or a list, found both at ${text}`, {
    status: 400,
  });
}
