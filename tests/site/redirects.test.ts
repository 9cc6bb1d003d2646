import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { canonicalPath, pathOf } from "../../core/http/path.ts";
import { parseTarget } from "../../plugins/site/location.ts";
import { type RedirectRule, Redirects } from "../../plugins/site/redirects.ts";
import { redirectLoops } from "../../plugins/site/redirect_loops.ts";
import type { Asked } from "../../plugins/site/scope.ts";

const rule = (from: string, to: string, more: Partial<RedirectRule> = {}): RedirectRule => ({
  from,
  to,
  status: 301,
  query: true,
  ...more,
});
const asked = (path: string, more: Partial<Asked> = {}): Asked => ({
  path,
  host: "shop.example",
  scheme: "http",
  query: "",
  ...more,
});
const find = (rules: readonly RedirectRule[], path: string, more: Partial<Asked> = {}) =>
  new Redirects(rules).find(asked(path, more))?.text;

describe("a redirect", () => {
  const cases: readonly [from: string, to: string, path: string, location: string | undefined][] = [
    ["/old", "/new", "/old", "/new"],
    ["/old", "/new", "/old/", undefined],
    ["/old", "/new", "/Old", undefined],
    ["/blog/*", "/news/$1", "/blog/a b", "/news/a%20b"],
    ["/blog/*", "/news/$1", "/blog/a/b", undefined],
    ["/blog/**", "/news/$1", "/blog/a/b", "/news/a/b"],
    ["/old/:id", "/new?id=$id", "/old/a&b=c", "/new?id=a%26b%3Dc"],
    ["/:year/:month/*", "/archive/${month}-$year/$1", "/2026/11/x", "/archive/11-2026/x"],
    ["/**/*.html", "/$1/$2", "/a/b/c.html", "/a/b/c"],
    ["/**/*.html", "/$1/$2", "/c.html", "/c"],
    ["/a?c", "/$$5", "/abc", "/$5"],
    ["/go/**", "/$1", "/go/", "/"],
    ["/go/**", "https://example.org/$1", "/go/x", "https://example.org/x"],
    ["/**", "https://example.org$path", "/a?b#c", "https://example.org/a%3Fb%23c"],
    ["/**", "https://$host$path", "/a", "https://shop.example/a"],
    ["/**", "https://$host:8443$path", "/a", "https://shop.example:8443/a"],
    ["/a", "https://example.org", "/a", "https://example.org/"],
    ["/a", "/b#$path", "/a", "/b#%2Fa"],
    ["/**", "/home", "/home", undefined],
    ["/**", "https://shop.example:443$path", "/x", "https://shop.example:443/x"],
  ];
  for (const [from, to, path, location] of cases) {
    test(`from ${from} to ${to} takes ${path} to ${location ?? "nowhere"}`, () => {
      expect(find([rule(from, to)], path)).toBe(location);
    });
  }

  test("takes the query along, behind its own, or leaves it", () => {
    const query = 'a=1&b="\u00e9\r\n';
    expect(find([rule("/a", "/b")], "/a", { query })).toBe('/b?a=1&b="%C3%A9%0D%0A');
    expect(find([rule("/a", "/b?c=2")], "/a", { query: "a=1" })).toBe("/b?c=2&a=1");
    expect(find([rule("/a", "/b#top")], "/a", { query: "a=1" })).toBe("/b?a=1#top");
    expect(find([rule("/a", "/b", { query: false })], "/a", { query: "a=1" })).toBe("/b");
  });

  test("counts for its host and scheme only", () => {
    const www = [rule("/**", "https://shop.example$path", { host: ["www.shop.example"] })];
    expect(find(www, "/a", { host: "WWW.Shop.Example.:8080" })).toBe("https://shop.example/a");
    expect(find(www, "/a")).toBe(undefined);
    const secure = [rule("/**", "https://$host$path", { scheme: "http" })];
    expect(find(secure, "/a", { host: "shop.example:8080" })).toBe("https://shop.example/a");
    expect(find(secure, "/a", { scheme: "https" })).toBe(undefined);
    expect(find(secure, "/a", { host: "" })).toBe(undefined);
    expect(find(secure, "/a", { host: "[::1]:80" })).toBe("https://[::1]/a");
  });

  test("is that of the first rule that matches, be it exact or not", () => {
    const rules = [
      rule("/a", "/1", { host: ["other.example"] }),
      rule("/*", "/2"),
      rule("/a", "/3"),
      rule("/**", "/4"),
    ];
    expect(find(rules, "/a")).toBe("/2");
    expect(find(rules, "/a", { host: "other.example" })).toBe("/1");
    expect(find(rules.slice(2), "/a")).toBe("/3");
    expect(find(rules, "/a/b")).toBe("/4");
    expect(find(rules, "/2")).toBe("/4");
  });
});

test("a target says where it leads in plain text", () => {
  const wrong = [
    "//evil.example/",
    "evil.example",
    "javascript:alert(1)",
    "https://$1/",
    "https://example.org$1",
    "https://$1.example.org/",
    "https://$host.example.org/",
    "https://user@example.org/",
    "https:///x",
    "https://",
    "/a\r\nb",
    "/a b",
    "/\\evil.example",
    "/$2",
    "/$",
    "",
  ];
  for (const to of wrong) expect(() => parseTarget(to, ["1"])).toThrow();
});

describe("redirects that come to no end", () => {
  const loops = (...rules: RedirectRule[]) => redirectLoops(rules).map((loop) => loop.rule);

  test("are found where the rules alone tell", () => {
    expect(loops(rule("/blog/**", "/blog/new/$1"))).toEqual([0]);
    expect(loops(rule("/a", "/b"), rule("/b", "/a"))).toEqual([0, 1]);
    expect(loops(rule("/a", "/b?x=1"), rule("/b", "/a", { query: false }))).toEqual([0, 1]);
    expect(loops(rule("/**", "http://$host$path", { scheme: "https" }), rule("/**", "https://$host$path"))).toEqual([
      0,
      1,
    ]);
    expect(
      loops(
        rule("/**", "https://a.example$path", { host: ["b.example"] }),
        rule("/**", "https://b.example$path", { host: ["a.example"] }),
      ),
    ).toEqual([0, 1]);
  });

  test("are not seen where there are none", () => {
    expect(loops(
      rule("/**", "https://$host$path", { scheme: "http" }),
      rule("/**", "https://shop.example$path", { host: ["www.shop.example"] }),
      rule("/old/**", "/new/$1"),
      rule("/new/a", "/new/b"),
      rule("/**", "https://other.example/from$path", { host: ["gone.example"] }),
    )).toEqual([]);
    expect(loops(rule("/**", "/home"))).toEqual([]);
    expect(loops(rule("/**", "https://new.example/old$path"))).toEqual([]);
  });
});

describe("whatever a client asks for", () => {
  const targets = fc.array(
    fc.constantFrom(
      "/",
      "//",
      "\\",
      "%5c",
      "%2f",
      "%2F%2F",
      "..",
      ".",
      "%2e",
      "evil.example",
      "@",
      ":",
      "%0d%0aSet-Cookie:x",
      "?",
      "#",
      "http:",
      "\u00e9",
      "%ff",
      " ",
      "a",
    ),
    { maxLength: 12 },
  ).map((parts) => `/${parts.join("")}`);
  const tos = fc.constantFrom(
    "/$1",
    "/$1/x",
    "$path",
    "$path/",
    "/x$1",
    "/?q=$1",
    "/#$1",
    "https://shop.example/$1",
    "https://$host$path",
    "https://other.example$path",
  );
  const froms = fc.constantFrom("/**", "/*", "/a**", "/**/a");

  test("it is sent where the rule says, in one line", () => {
    fc.assert(
      fc.property(targets, fc.string({ unit: "binary" }), tos, froms, (target, query, to, from) => {
        const path = canonicalPath(pathOf(target));
        if (path === undefined) return;
        const x = asked(path, { query });
        const found = new Redirects([rule(from, to)]).find(x);
        if (found === undefined) return;
        expect(found.text).toMatch(/^[\x21-\x7e]+$/);
        const configured = /^https:\/\/[^/$]+/.exec(to)?.[0] ??
          (to.startsWith("https") ? "https://shop.example" : "http://shop.example");
        const url = new URL(found.text, "http://shop.example/some/where");
        expect(url.origin).toBe(configured);
        expect([url.username, url.password]).toEqual(["", ""]);
      }),
      { numRuns: 3000 },
    );
  });

  test("a path that goes along is the same path", () => {
    fc.assert(fc.property(targets, (target) => {
      const path = canonicalPath(pathOf(target));
      if (path === undefined) return;
      const found = new Redirects([rule("/**", "https://other.example$path")]).find(asked(path))!;
      expect(canonicalPath(pathOf(found.text.slice("https://other.example".length)))).toBe(path);
    }));
  });
});
