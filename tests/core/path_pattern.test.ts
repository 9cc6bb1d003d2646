import { describe, expect, test } from "bun:test";
import { pathPattern } from "../../core/http/path_pattern.ts";

describe("path patterns", () => {
  test("* and ? stay in a segment, ** crosses them, all else is literal", () => {
    const yes = [
      ["/build/**", "/build/a/b.js"],
      ["/*.css", "/a.css"],
      ["/**/*.css", "/a.css"],
      ["/**/*.css", "/x/y/a.css"],
      ["/a.b", "/a.b"],
      ["/**", "/"],
      ["/a+(b)[c]", "/a+(b)[c]"],
      ["/wp-?.php", "/wp-a.php"],
      ["uploads/**", "/uploads/x.php"],
      ["/up**", "/uploads/x.php"],
    ] as const;
    for (const [pattern, path] of yes) {
      expect([pattern, path, pathPattern(pattern).test(path)]).toEqual([pattern, path, true]);
    }
    const no = [["/build/**", "/buildx/a"], ["/*.css", "/x/a.css"], ["/a.b", "/axb"], ["/a", "/a/b"], ["/a", "/ba"], [
      "/?",
      "//",
    ], ["/a?", "/a"]];
    for (const [pattern, path] of no as [string, string][]) {
      expect([pattern, path, pathPattern(pattern).test(path)]).toEqual([pattern, path, false]);
    }
  });
});
