/**
 * Compiles a pattern over whole canonical paths, as every table of the configuration means it: `*` and `?` stay within a
 * segment, `**` crosses segments, and `**` between two slashes may be no segment at all. The slash in front may be left
 * out.
 *
 * @example
 * ```ts
 * pathPattern("/build/**").test("/build/assets/app.js"); // true
 * pathPattern("/**" + "/*.css").test("/a.css"); // true
 * ```
 */
export function pathPattern(pattern: string): RegExp {
  const source = pattern.replace(/^\/*/, "/").replace(/\*\*\/|\*\*|[*?]|[\\^$.+()[\]{}|]/g, (found) => {
    if (found === "**/") return "(?:.*/)?";
    if (found === "**") return ".*";
    if (found === "*") return "[^/]*";
    return found === "?" ? "[^/]" : `\\${found}`;
  });
  return new RegExp(`^${source}$`, "s");
}
