import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { canonicalPath, originForm, pathOf, queryOf } from "../../core/http/path.ts";

describe("canonicalPath", () => {
  const cases: readonly (readonly [raw: string, canonical: string | undefined])[] = [
    ["/", "/"],
    ["/a/b.php", "/a/b.php"],
    ["/a//b///c", "/a/b/c"],
    ["/a/./b/.", "/a/b/"],
    ["/a/../b", "/b"],
    ["/a/%2e%2e/b", "/b"],
    ["/a/%2E%2e/", "/"],
    ["/a%2Fb", "/a/b"],
    ["/..%2f..%2fetc/passwd", undefined],
    ["/../x", undefined],
    ["/a/../../x", undefined],
    ["/%2e%2e%5cwindows", "/..\\windows"],
    ["/a\\b", "/a/b"],
    ["/..\\..\\x", undefined],
    ["/%252e%252e/x", "/%2e%2e/x"],
    ["/a%00b", undefined],
    ["/%zz", undefined],
    ["/%", undefined],
    ["/%e9", "/\uFFFD"],
    ["/caf%C3%A9", "/café"],
    ["/%c0%ae%c0%ae/x", "/\uFFFD\uFFFD\uFFFD\uFFFD/x"],
    ["/.well-known/x", "/.well-known/x"],
    ["/a b", "/a b"],
    ["*", undefined],
    ["", undefined],
  ];
  for (const [raw, canonical] of cases) {
    test(`${JSON.stringify(raw)} is ${JSON.stringify(canonical)}`, () => {
      expect(canonicalPath(raw)).toBe(canonical);
    });
  }

  const piece = fc.constantFrom("/", ".", "..", "%2e", "%2F", "%5c", "\\", "a", "b.php", "%00", "%25", "%c3", "é", " ");

  test("never leaves a dot segment, a doubled slash or a NUL, whatever comes in", () => {
    fc.assert(fc.property(fc.array(piece, { maxLength: 20 }), (parts) => {
      const path = canonicalPath(`/${parts.join("")}`);
      if (path === undefined) return;
      expect(path.startsWith("/")).toBe(true);
      expect(path.includes("\0") || path.includes("//")).toBe(false);
      expect(path.split("/").some((s) => s === "." || s === "..")).toBe(false);
    }));
  });

  test("agrees with the WHATWG parser where no slash, backslash or percent is encoded", () => {
    const plain = fc.constantFrom("/", ".", "..", "a", "b.php", "-", "_");
    fc.assert(fc.property(fc.array(plain, { maxLength: 12 }), (parts) => {
      const raw = `/${parts.join("")}`;
      const ours = canonicalPath(raw);
      // WHATWG keeps doubled slashes and stops at the root, where we merge and refuse.
      if (raw.includes("//") || ours === undefined) return;
      expect(ours).toBe(new URL(raw, "http://h").pathname);
    }));
  });
});

describe("request targets", () => {
  test("are split at the first question mark, without the fragment", () => {
    for (
      const [target, path, query] of [["/a?b?c", "/a", "b?c"], ["/a#x?y", "/a", ""], ["/a?b#x", "/a", "b"], [
        "/a",
        "/a",
        "",
      ]]
    ) {
      expect([pathOf(target!), queryOf(target!)]).toEqual([path!, query!]);
    }
  });

  test("are brought to origin form", () => {
    expect(originForm("/a?b")).toEqual({ target: "/a?b", authority: undefined });
    expect(originForm("http://other:80/a?b")).toEqual({ target: "/a?b", authority: "other:80" });
    expect(originForm("HTTP://other?b")).toEqual({ target: "/?b", authority: "other" });
    expect(originForm("ftp://other/")).toBe(undefined);
    expect(originForm("*")).toBe(undefined);
    expect(originForm("host:443")).toBe(undefined);
  });
});
