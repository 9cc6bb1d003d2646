import type { Override } from "./environment.ts";
import { type JsonSchema, schemasAt } from "./json_schema.ts";
import { getIn, isTable, type Path, startsWith } from "./path.ts";
import type { RawConfig } from "./read.ts";

const secretName = /(password|passwd|passphrase|pwd|secret|token|credential|_key|_auth|(^|_)pass)s?$/i;

/** Where each value was written. */
export class Places {
  readonly #raw: RawConfig;
  readonly #overrides: readonly Override[];
  readonly #schema: JsonSchema;

  constructor(raw: RawConfig, overrides: readonly Override[], schema: JsonSchema) {
    this.#raw = raw;
    this.#overrides = overrides;
    this.#schema = schema;
  }

  /** What set this value from outside, or put a table where the file has none. */
  override(path: Path): Override | undefined {
    const table = isTable(getIn(this.#raw.value, path));
    return this.#overrides.findLast((set) => startsWith(path, set.path) || (!table && startsWith(set.path, path)));
  }

  /** The line of the value, or of the nearest table around it. */
  line(path: Path): number | undefined {
    for (let n = path.length; n > 0; n--) {
      const line = this.#raw.line(path.slice(0, n));
      if (line !== undefined) return line;
    }
    return undefined;
  }

  /** `fairlead.toml:12`, `env FAIRLEAD_…` or `file /run/secrets/…`; undefined when there is nothing to point at. */
  from(path: Path): string | undefined {
    const line = this.line(path);
    return this.override(path)?.from ?? (line === undefined ? this.#raw.file : `${this.#raw.file}:${line}`);
  }

  /** Whether a value must never be shown: it came from a `_FILE`, or its key or its schema says so. */
  secret(path: Path): boolean {
    return secretName.test(String(path.at(-1))) || (this.override(path)?.secret ?? false) ||
      schemasAt(this.#schema, path).some((schema) => schema["writeOnly"] === true);
  }
}

/** Hides the password of every URL in a value: `mysql://app:***@db/shop`. */
export function maskUrls(value: unknown): unknown {
  if (typeof value === "string") {
    return value.replace(/(:\/\/[^\s:@/]*:)[^]*@/g, "$1***@")
      .replace(/([?&](?:password|passwd|passphrase|pwd|pass|secret|token)=)[^&\s]*/gi, "$1***");
  }
  if (Array.isArray(value)) return value.map(maskUrls);
  if (!isTable(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, maskUrls(inner)]));
}

/** Hides what may be a password in a value that is wrong: a URL without its scheme must not show it either. */
export function maskMistake(value: unknown): unknown {
  return typeof value === "string" ? maskUrls(value.replace(/^([^\s:@/]*:)(?!\/\/)[^]*@/, "$1***@")) : maskUrls(value);
}
