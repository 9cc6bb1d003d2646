import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { diskFs, folderIdentity } from "../../plugins/php/disk_fs.ts";
import { makeResolver, type Resolution, type ResolveSettings } from "../../plugins/php/resolve.ts";
import { rememberResolutions } from "../../plugins/php/resolve_cache.ts";
import { pathPattern } from "../../core/http/path_pattern.ts";

let dir: string;
let root: string;

beforeAll(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), "fairlead-resolve-")));
  root = join(dir, "public");
  const files = [
    "public/index.php",
    "public/app.php",
    "public/UPPER.PHP",
    "public/style.css",
    "public/uploads/evil.jpg",
    "public/uploads/shell.php",
    "public/uploads/2024/05/shell.php",
    "public/uploads/shell.phtml",
    "public/uploads/shell.phar",
    "public/uploads/shell.php.",
    "public/uploads/shell.php ",
    "public/uploads/shell.php::$DATA",
    "public/uploads/ȺȺȺȺshell.php.txt",
    "public/uploads/shell.ｐhp",
    "public/uploads/.php",
    "public/.env",
    "public/.git/hook.php",
    "public/sub/.secret/x.php",
    "public/.well-known/x.php",
    "public/blog/index.php",
    "public/assets/logo.svg",
    "public/folder.php/inner.php",
    "public/a#b?/index.php",
    "secret.php",
    "public2/x.php",
  ];
  for (const name of files) {
    mkdirSync(join(dir, name, ".."), { recursive: true });
    writeFileSync(join(dir, name), "x");
  }
  const links = { "out.php": "../secret.php", "outdir": "..", "sibling": "../public2", "alias": "uploads" };
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(root, name));
  symlinkSync("uploads/evil.jpg", join(root, "image.php"));
  symlinkSync("app.php", join(root, "inside.php"));
  symlinkSync(".git/hook.php", join(root, "unhidden.php"));
  symlinkSync("loop.php", join(root, "loop.php"));
});

afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** As `static.deny` reads them, in short. */
function denial(patterns: readonly string[]): (path: string) => boolean {
  return (path) => patterns.some((one) => pathPattern(one).test(path));
}

function resolve(path: string, settings: Partial<ResolveSettings> = {}, query = ""): Resolution {
  return makeResolver({ publicRoot: root, ...settings }, diskFs)(path, query);
}

/** `script /a.php|/info`, or the kind. */
function short(path: string, settings: Partial<ResolveSettings> = {}): string {
  const found = resolve(path, settings);
  return found.kind === "script" ? `${found.scriptName}|${found.pathInfo}` : found.kind;
}

describe("makeResolver", () => {
  test("says all a script needs", () => {
    expect(resolve("/index.php/a/b.php")).toEqual({
      kind: "script",
      scriptFilename: `${root}/index.php`,
      scriptName: "/index.php",
      pathInfo: "/a/b.php",
      documentUri: "/index.php",
      documentRoot: root,
    });
  });

  const paths: Readonly<Record<string, string>> = {
    "/": "/index.php|",
    "/users/7": "/index.php|",
    "/users/7/": "/index.php|",
    "/app.php": "/app.php|",
    "/app.php/": "/app.php|/",
    "/app.php/.git/../x.PHP": "/app.php|/.git/../x.PHP",
    "/inside.php": "/inside.php|",
    "/blog/": "/blog/index.php|",
    "/style.css": "none",
    "/style.css/": "/index.php|",
    "/assets": "/index.php|",
    "/assets/": "/index.php|",
    "/folder.php/inner.php/x": "/folder.php/inner.php|/x",
    "/.well-known/x.php": "/.well-known/x.php|",
    "/.well-known/acme": "/index.php|",
    "/missing.php": "not-found",
    "/missing.php/x": "not-found",
    "*": "none",
    "": "none",
  };
  for (const [path, expected] of Object.entries(paths)) {
    test(`${JSON.stringify(path)} is ${expected}`, () => expect(short(path)).toBe(expected));
  }

  const hostile: Readonly<Record<string, string>> = {
    "/uploads/evil.jpg/x.php": "not-found",
    "/style.css/index.php": "not-found",
    "/UPPER.PHP": "not-found",
    "/index.PHP": "not-found",
    "/index.pHp/x": "not-found",
    "/uploads/shell.phtml": "not-found",
    "/uploads/shell.phar": "not-found",
    "/uploads/shell.phar/x": "not-found",
    "/uploads/shell.php.": "not-found",
    "/uploads/shell.php ": "not-found",
    "/uploads/shell.php\t": "not-found",
    "/uploads/shell.php::$DATA": "not-found",
    "/uploads/shell.php:stream": "not-found",
    "/app.php~": "not-found",
    "/app.php.bak": "not-found",
    "/app.php5": "not-found",
    "/app.phps": "not-found",
    "/app.php\0": "not-found",
    "/app.php\0.jpg": "not-found",
    "/uploads/.php": "not-found",
    "/.env": "not-found",
    "/.git/hook.php": "not-found",
    "/.git/config": "not-found",
    "/sub/.secret/x.php": "not-found",
    "/.well-known/.x/y.php": "not-found",
    "/sub/.well-known/x.php": "not-found",
    "/../secret.php": "not-found",
    "/uploads/../app.php": "not-found",
    "/./app.php": "not-found",
    "/unhidden.php": "forbidden",
    "/out.php": "forbidden",
    "/outdir/secret.php": "forbidden",
    "/sibling/x.php": "forbidden",
    "/image.php": "forbidden",
    "/loop.php": "not-found",
    "/uploads/ȺȺȺȺshell.php.txt.php": "not-found",
    "/ȺȺȺȺshell.php.txt.php": "not-found",
    "/uploads/ȺȺȺȺshell.php.txt": "none",
    "/uploads/shell.ｐhp": "none",
    "/uploads/shell.php\u0130": "/index.php|",
    [`/${"a".repeat(5000)}.php`]: "not-found",
    [`/app.php${".".repeat(5000)}`]: "not-found",
  };
  for (const [path, expected] of Object.entries(hostile)) {
    test(`runs nothing it should not: ${JSON.stringify(path).slice(0, 60)}`, () => expect(short(path)).toBe(expected));
  }

  test("sends a folder without its slash on, with the query, never to another host", () => {
    expect(resolve("/blog", {}, "a=b%20c&d")).toEqual({ kind: "redirect", location: "/blog/?a=b%20c&d" });
    expect(resolve("/a#b?")).toEqual({ kind: "redirect", location: "/a%23b%3F/" });
    expect(resolve("//blog")).toEqual({ kind: "redirect", location: "/blog/" });
  });

  test("without a front controller leaves what is no script to others", () => {
    const settings = { frontController: false as const };
    expect(["/", "/users", "/blog/", "/style.css", "/x.php"].map((path) => short(path, settings)))
      .toEqual(["/index.php|", "none", "/blog/index.php|", "none", "not-found"]);
    expect(short("/users", { frontController: "/nope.php" })).toBe("none");
  });

  test("uses the given index and front controller", () => {
    expect(short("/", { index: "app.php", frontController: "/blog/index.php" })).toBe("/app.php|");
    expect(short("/users", { index: "app.php", frontController: "/blog/index.php" })).toBe("/blog/index.php|");
  });

  test("has a front controller for each prefix, of which the longest counts", () => {
    const frontController = {
      "/": false as const,
      "/blog/": "/blog/index.php",
      "/blog/api/": "/app.php",
      "/w/": "/nope.php",
    };
    const paths = [
      "/users",
      "/blog/2024/post",
      "/blog/api/v1",
      "/blog/apis",
      "/blogs",
      "/w/x",
      "/blog/none.php",
      "/blog/",
    ];
    expect(paths.map((path) => short(path, { frontController }))).toEqual(
      ["none", "/blog/index.php|", "/app.php|", "/blog/index.php|", "none", "none", "not-found", "/blog/index.php|"],
    );
    // A front controller needs no permission, the others do.
    const named = ["/app.php", "/blog/index.php", "/index.php"].map((path) =>
      short(path, { frontController, allow: [] })
    );
    expect(named).toEqual(["/app.php|", "/blog/index.php|", "forbidden"]);
  });

  test("follows links into the named folders only, and keeps its rules there", () => {
    const follow = [join(dir, "public2"), join(dir, "gone")];
    expect(resolve("/sibling/x.php/info", { follow })).toMatchObject({
      kind: "script",
      scriptFilename: join(root, "sibling/x.php"),
      scriptName: "/sibling/x.php",
      pathInfo: "/info",
      documentRoot: root,
    });
    expect(short("/sibling/x.php")).toBe("forbidden");
    expect(["/out.php", "/outdir/secret.php", "/outdir/public2/x.php"].map((path) => short(path, { follow })))
      .toEqual(["forbidden", "forbidden", "/outdir/public2/x.php|"]);
    expect(short("/sibling/x.php", { follow, deny: ["/sibling/**"] })).toBe("forbidden");
    expect(short("/sibling/x.php", { follow, allow: ["/index.php"] })).toBe("forbidden");
    // The whole disk is no folder to follow into.
    expect(short("/out.php", { follow: ["/"] })).toBe("forbidden");
  });

  test("gives a missing script's path to the front controller where that is wanted", () => {
    const settings = { missingScript: "front-controller" as const };
    expect(
      ["/old/page.php", "/uploads/evil.jpg/x.php", "/UPPER.PHP", "/.git/no.php"].map((path) => short(path, settings)),
    )
      .toEqual(["/index.php|", "/index.php|", "not-found", "not-found"]);
  });

  test("denies by the name asked for and by the real one", () => {
    const settings = { deny: ["/uploads/**/*.php"] };
    for (const path of ["/uploads/shell.php", "/uploads/2024/05/shell.php/x", "/alias/shell.php"]) {
      expect([path, short(path, settings)]).toEqual([path, "forbidden"]);
    }
    expect(short("/app.php", settings)).toBe("/app.php|");
    expect(short("/uploads/evil.jpg", settings)).toBe("none");
  });

  test("a closed script does not run for a PATH_INFO, as an index, or by a link either", () => {
    const closed = denial(["/app.php", "/uploads/**", "/blog/index.php", "/x.php"]);
    for (const path of ["/app.php", "/app.php/", "/app.php/x", "/inside.php", "/alias/shell.php", "/blog/"]) {
      expect([path, short(path, { closed })]).toEqual([path, "forbidden"]);
    }
    expect(short("/blog", { closed })).toBe("redirect");
    // Names in a folder elsewhere are those of the link.
    const follow = [join(dir, "public2")];
    expect(short("/sibling/x.php", { closed, follow })).toBe("/sibling/x.php|");
    expect(short("/sibling/x.php", { closed: denial(["/sibling/**"]), follow })).toBe("forbidden");
  });

  test("a closed front controller still stands for all other paths", () => {
    const closed = denial(["/index.php"]);
    expect(["/", "/users", "/index.php/users"].map((path) => short(path, { closed })))
      .toEqual(["/index.php|", "/index.php|", "forbidden"]);
  });

  test("with an allow list runs only what is on it, and the front controller", () => {
    const settings = { allow: ["/app.php", "/b*/index.php"] };
    expect(["/app.php", "/blog/", "/blog/index.php", "/users", "/index.php/x", "/uploads/shell.php"]
      .map((path) => short(path, settings)))
      .toEqual(["/app.php|", "/blog/index.php|", "/blog/index.php|", "/index.php|", "/index.php|/x", "forbidden"]);
  });

  test("patterns take nothing but * and ? as special", () => {
    expect(short("/app.php", { deny: ["/app_php", "/[a]pp.php", "/(app|x).php", "/*"] })).toBe("forbidden");
    expect(short("/app.php", { deny: ["/appxphp", "/[a]pp.php", "/(app|x).php", "/*/*", "/**/x.php"] })).toBe(
      "/app.php|",
    );
    expect(short("/app.php", { deny: ["/ap?.php"] })).toBe("forbidden");
    expect(short("/folder.php/inner.php", { deny: ["folder.php/**"] })).toBe("forbidden");
  });

  test("without a public root has nothing", () => {
    expect(short("/index.php", { publicRoot: join(dir, "no") })).toBe("none");
  });

  test("names the script by the release a deploy's link leads to", () => {
    for (const release of ["r1", "r2"]) {
      mkdirSync(join(dir, release));
      writeFileSync(join(dir, release, "index.php"), release);
    }
    const current = join(dir, "current");
    const flip = (release: string) => {
      symlinkSync(release, `${current}.new`);
      renameSync(`${current}.new`, current);
    };
    flip("r1");
    const plain = makeResolver({ publicRoot: current }, diskFs);
    const remembered = rememberResolutions(plain, { identity: () => folderIdentity(current), now: () => 0, lookMs: 0 });
    const roots = () => [plain, remembered].map((one) => (one("/x", "") as { documentRoot: string }).documentRoot);
    expect(roots()).toEqual([join(dir, "r1"), join(dir, "r1")]);
    flip("r2");
    expect(roots()).toEqual([join(dir, "r2"), join(dir, "r2")]);
  });

  test("whatever the path, runs only a visible .php file of the root, or the front controller", () => {
    const resolver = makeResolver({ publicRoot: root }, diskFs);
    const piece = fc.constantFrom(
      "app.php",
      "uploads",
      "shell.php",
      ".git",
      "hook.php",
      "..",
      ".",
      "",
      "index.php",
      "evil.jpg",
      "x",
      "out.php",
      "outdir",
      "secret.php",
      "alias",
      "sibling",
      "x.PHP",
      "image.php",
      "folder.php",
      "inner.php",
      "\0",
      "%00",
      "..%2f",
    ); // deno-fmt-ignore
    fc.assert(
      fc.property(fc.array(fc.oneof(piece, fc.string({ unit: "binary", maxLength: 6 })), { maxLength: 6 }), (pieces) => {
        const path = "/" + pieces.join("/");
        const found = resolver(path, "");
        if (found.kind !== "script") return;
        expect(found.scriptName.endsWith(".php")).toBe(true);
        expect(diskFs.realpath(found.scriptFilename)?.startsWith(`${root}/`)).toBe(true);
        expect(diskFs.kind(found.scriptFilename)).toBe("file");
        expect(found.scriptName.split("/").some((segment) => segment.startsWith("."))).toBe(false);
        const named = path.startsWith(found.scriptName) && path === found.scriptName + found.pathInfo;
        const index = path.endsWith("/") && found.scriptName === `${path}index.php`;
        expect(named || index || (found.scriptName === "/index.php" && found.pathInfo === "")).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });
});

describe("rememberResolutions", () => {
  function counted(): {
    calls: string[];
    at: { time: number; root: string | undefined };
    ask: (path: string) => string;
  } {
    const calls: string[] = [];
    const at: { time: number; root: string | undefined } = { time: 0, root: "r1" };
    const remembered = rememberResolutions((path) => {
      calls.push(path);
      return path.startsWith("/dir") ? { kind: "redirect", location: path } : { kind: "none" };
    }, { identity: () => at.root, now: () => at.time, max: 3 });
    return { calls, at, ask: (path) => remembered(path, "").kind };
  }

  test("asks again after a second, and when the root is another folder", () => {
    const { calls, at, ask } = counted();
    ask("/a");
    at.time = 999;
    ask("/a");
    expect(calls.length).toBe(1);
    at.time = 1000;
    ask("/a");
    expect(calls.length).toBe(2);
    at.root = "r2"; // last asked for at 999
    at.time = 1018;
    ask("/a");
    expect(calls.length).toBe(2);
    at.time = 1019;
    ask("/a");
    expect(calls.length).toBe(3);
  });

  test("remembers no redirect, nothing without a root, and no more than it may", () => {
    const { calls, at, ask } = counted();
    ask("/dir");
    ask("/dir");
    expect(calls.length).toBe(2);
    for (const path of ["/a", "/b", "/c", "/d"]) ask(path);
    ask("/a");
    expect(calls.length).toBe(7);
    at.root = undefined;
    at.time = 20;
    ask("/x");
    ask("/x");
    expect(calls.length).toBe(9);
  });
});
