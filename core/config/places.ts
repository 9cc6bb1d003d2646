import type { Override } from "./environment.ts";
import { getIn, isTable, type Path, startsWith } from "./path.ts";
import type { RawConfig } from "./read.ts";

const secretName = /(password|passwd|passphrase|pwd|secret|token|credential|_key|_auth|(^|_)pass)s?$/i;

/** Where each value was written. */
export class Places {
  readonly #raw: RawConfig;
  readonly #overrides: readonly Override[];

  constructor(raw: RawConfig, overrides: readonly Override[]) {
    this.#raw = raw;
    this.#overrides = overrides;
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

  /** Whether a value must never be shown: it came from a `_FILE`, or its key says so. */
  secret(path: Path): boolean {
    return secretName.test(String(path.at(-1))) || (this.override(path)?.secret ?? false);
  }
}

/** Hides the password of every URL in a value: `mysql://app:***@db/shop`. */
export function maskUrls(value: unknown): unknown {
  if (typeof value === "string") return value.replace(/(:\/\/[^\s:@/]*:)\S*@/g, "$1***@");
  if (Array.isArray(value)) return value.map(maskUrls);
  if (!isTable(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, maskUrls(inner)]));
}
