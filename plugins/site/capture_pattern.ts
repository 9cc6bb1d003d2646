/** A pattern over canonical paths whose wildcards capture. */
export interface CapturePattern {
  /** Undefined for a path without wildcards. */
  readonly regexp: RegExp | undefined;
  /** Names of what is captured, in order: `1`, `2` for `*` and `**`, the name for `:name`. */
  readonly names: readonly string[];
  /** A path that it matches. */
  readonly sample: string;
}

/**
 * Compiles what `redirects.from` says: the patterns of all tables, with `:name` for a whole segment. `?` is not captured.
 *
 * @example
 * ```ts
 * capturePattern("/:lang/blog/**").names; // ["lang", "1"]
 * ```
 */
export function capturePattern(pattern: string): CapturePattern {
  const names: string[] = [];
  let sample = "", wildcards = 0, plain = true;
  const source = pattern.replace(
    /(?<=\/):([A-Za-z_]\w*)(?=\/|$)|\*\*\/|\*\*|[*?]|[\\^$.+()[\]{}|]|[^]/g,
    (found, name: string | undefined) => {
      const wild = name !== undefined || /^[*?]/.test(found);
      if (!wild) {
        sample += found;
        return /[\\^$.+()[\]{}|]/.test(found) ? `\\${found}` : found;
      }
      plain = false;
      sample += found === "**/" ? "x/" : "x";
      if (found === "?") return "[^/]";
      names.push(name ?? String(++wildcards));
      return name !== undefined ? "([^/]+)" : found === "**/" ? "(?:(.*)/)?" : found === "**" ? "(.*)" : "([^/]*)";
    },
  );
  return { regexp: plain ? undefined : new RegExp(`^${source}$`, "s"), names, sample };
}
