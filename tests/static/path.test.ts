import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { classify, isPublicOnDisk, isSource } from "../../plugins/static/path.ts";

const source = [
  "/index.php",
  "/x.PHP",
  "/x.pHp",
  "/x.php.",
  "/x.php ",
  "/x.php%00",
  "/x.php%2f",
  "/x.php%2500.jpg",
  "/x.php::$DATA",
  "/x.php/a.jpg",
  "/up/evil.php/pic.png",
  "/x.php3",
  "/x.php8",
  "/x.phps",
  "/x.phpt",
  "/x.pht",
  "/x.phtml",
  "/x.phar",
  "/x.phar.gz",
  "/x.php~",
  "/x.php.bak",
  "/x.php.old",
  "/x.php.save",
  "/x.php.swp",
  "/x.php.orig",
  "/x.php.1",
  "/x.php-old",
  "/x.php_bak",
  "/x.phpbak",
  "/x.php.gz",
  "/x.php.br",
  "/x.php.zst",
  "/x.php.txt",
  "/x.php copy",
  "/#x.php#",
  "/wp-config.php.swo",
  "/shell.php.txt.php",
  "/\u023a\u023a\u023a\u023ashell.php.txt.php",
  "/db.inc",
  "/db.INC",
  "/db.inc.bak",
  "/db.inc~",
  "/db.inc.",
  "/db.inc/x",
  "/db.inc.gz",
];

const plain = [
  "/",
  "/app.js",
  "/a/b/c.css",
  "/prism-php.js",
  "/php",
  "/php/manual.html",
  "/header.inc.css",
  "/incoming.png",
  "/x.included",
  "/sphphp.jpg",
  "/.well-known/acme-challenge/abc",
  "/.well-known",
  "/a b/\u00e9.png",
  "/a..b.png",
  "/12:30.jpg",
  "/x.pharmacy/logo.png",
];

const hidden = [
  "/.env",
  "/.git/config",
  "/a/.htaccess",
  "/.well-knownx",
  "/.well-known/.x",
  "/a/.well-known/x",
  "/..",
  "/../x",
  "/a/../../x",
  "/.",
  "/.x.php.swp",
  "/.php",
  "/.git/hook.php",
  "/...",
];

const odd = ["", "*", "a.css", "//a.css", "/a//b", "/a\0.css", "/a\\..\\b", "/a\nb", "/a\x7f", "\\x"];

describe("paths", () => {
  test("source is never a file", () => {
    for (const path of source) expect([path, classify(path)]).toEqual([path, "foreign"]);
  });

  test("ordinary names may be files", () => {
    for (const path of plain) expect([path, classify(path)]).toEqual([path, "plain"]);
  });

  test("a segment that starts with a dot hides, but not .well-known at the top", () => {
    for (const path of hidden) expect([path, classify(path)]).toEqual([path, "hidden"]);
  });

  test("what no canonical path contains is left alone", () => {
    for (const path of odd) expect([path, classify(path)]).toEqual([path, "foreign"]);
  });

  test("dots in PATH_INFO are the script's affair", () => {
    expect(classify("/index.php/.well-known/webfinger")).toBe("foreign");
    expect(classify("/index.php/a/.b")).toBe("foreign");
  });

  test("whatever stands around .php, it is not plain", () => {
    fc.assert(fc.property(fc.string(), fc.string(), fc.constantFrom(".php", ".PhP", ".phtml", ".phar"), (a, b, ext) => {
      const path = `/${a}${ext}${/^[a-z]/i.test(b) ? "" : b}`;
      expect(isSource(path)).toBe(true);
      expect(classify(path)).not.toBe("plain");
    }));
  });

  test("a plain path has no empty, dot or hidden segment", () => {
    const segment = fc.oneof(fc.string(), fc.constantFrom("", ".", "..", ".git", "a", "\\", "\0", ".well-known"));
    fc.assert(fc.property(fc.array(segment, { minLength: 1 }), (segments) => {
      const path = `/${segments.join("/")}`;
      if (classify(path) !== "plain") return;
      const parts = path.slice(1).split("/");
      expect(parts.slice(0, -1)).not.toContain("");
      expect(parts.slice(1).some((part) => part.startsWith("."))).toBe(false);
      expect(parts[0]?.startsWith(".") === true && parts[0] !== ".well-known").toBe(false);
    }));
  });

  test("on disk, ..data is where Kubernetes keeps a volume's files", () => {
    expect(isPublicOnDisk("/conf/..2024_06_01/robots.txt")).toBe(true);
    expect(isPublicOnDisk("/..data/robots.txt")).toBe(true);
    expect(isPublicOnDisk("/.env")).toBe(false);
    expect(isPublicOnDisk("/a/.git/config")).toBe(false);
    expect(isPublicOnDisk("/a/wp-config.php")).toBe(false);
    expect(isPublicOnDisk("/.well-known/x")).toBe(true);
  });
});
