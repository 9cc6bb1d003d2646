/** Cache rules: the first pattern that matches a path gives the value. @module */

export interface CacheRule {
  /** `*` stands for anything within a segment, `**` for anything across segments. */
  readonly match: string;
  /** The value of `Cache-Control`. */
  readonly value: string;
}

/**
 * Compiles a pattern over whole paths.
 *
 * @example
 * ```ts
 * glob("/build/**").test("/build/assets/app.js"); // true
 * glob("/**" + "/*.css").test("/a.css"); // true: the folders in between may be none
 * ```
 */
export function glob(pattern: string): RegExp {
  const source = pattern.replace(/\*\*\/|\*\*|\*|[\\^$.+?()[\]{}|]/g, (found) => {
    if (found === "**/") return "(?:.*/)?";
    if (found === "**") return ".*";
    if (found === "*") return "[^/]*";
    return `\\${found}`;
  });
  return new RegExp(`^${source}$`, "s");
}

/** Returns what finds the `Cache-Control` value for a path. */
export function cacheControl(rules: readonly CacheRule[]): (path: string) => string | undefined {
  const compiled = rules.map((rule) => ({ pattern: glob(rule.match), value: rule.value }));
  return (path) => compiled.find((rule) => rule.pattern.test(path))?.value;
}
