import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import * as fs from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { byDescriptor, byPath, Roots } from "../../plugins/static/roots.ts";
import { type Ask, asker, fifo, must, openBelow, type Tree, tree } from "./support.ts";

let site: Tree;
let ask: Ask;
const escapes: string[] = [];

beforeAll(() => {
  site = tree();
  site.write("secret.txt", "SECRET");
  site.write("outside/index.html", "SECRET");
  site.write("outside/pic.txt", "SECRET");
  site.write("public-not/x.txt", "SECRET");
  site.write("public/ok.txt", "fine");
  site.write("public/.env", "SECRET");
  site.write("public/config.php", "<?php SECRET");
  site.write("public/.git/config", "SECRET");
  for (const name of ["x.PHP", "x.php.", "x.php ", "x.php::$DATA", "x.php~", "x.php.bak", "x.php.swp", "x.phtml"]) {
    site.write(`public/${name}`, "<?php SECRET");
  }
  for (const name of ["x.php8", "x.phps", "x.phar", "x.inc", "x.php.gz", "x.php.txt", "x.php%00.txt", "x.php%2f.txt"]) {
    site.write(`public/${name}`, "<?php SECRET");
  }
  site.write("public/dir.php/pic.txt", "SECRET");
  site.write("public/\u023a\u023a\u023a\u023ashell.php.txt.php", "SECRET");
  site.link("public/inside.txt", "ok.txt");
  site.link("public/escape.txt", "../secret.txt");
  site.link("public/absolute.txt", join(site.base, "secret.txt"));
  site.link("public/out", "../outside");
  site.link("public/sibling.txt", "../public-not/x.txt");
  site.link("public/two.txt", "escape.txt");
  site.link("public/source.txt", "config.php");
  site.link("public/env.txt", ".env");
  site.link("public/loop.txt", "loop.txt");
  site.link("public/dangling.txt", "nothing");
  site.link("public/null.txt", "/dev/null");
  site.link("public/self.txt", "/proc/self/environ");
  fifo(join(site.root, "pipe.txt"));
  ask = asker({ root: site.root, onEscape: (_, real) => void escapes.push(real) });
});

afterAll(() => {
  expect(openBelow(site.base)).toEqual([]);
  site.remove();
});

describe("never sent", () => {
  test("source under any name it may have", () => {
    for (const name of fs.readdirSync(site.root).filter((n) => /php|inc|phtml|phar/i.test(n))) {
      for (const path of [`/${name}`, `/${name}/`, `/${name}/a.jpg`, `/${name}/pic.txt`]) {
        for (const method of ["GET", "HEAD", "POST"]) expect([path, ask(path, {}, method)]).toEqual([path, undefined]);
      }
    }
    expect(ask("/dir.php/pic.txt")).toBe(undefined);
  });

  test("hidden files, as if there were none, whatever the method", async () => {
    for (const path of ["/.env", "/.git/config", "/.git/", "/.git", "/.not-there", "/a/.not-there/x"]) {
      for (const method of ["GET", "POST", "OPTIONS"]) {
        const response = must(ask(path, {}, method));
        expect([path, response.status, await response.text()]).toEqual([path, 404, "Not found\n"]);
      }
      expect(await must(ask(path, {}, "HEAD")).text()).toBe("");
    }
  });

  test("what a link leads out to", () => {
    const out = ["/escape.txt", "/absolute.txt", "/two.txt", "/sibling.txt", "/out/pic.txt", "/out/", "/out"];
    for (const path of [...out, "/loop.txt", "/dangling.txt", "/null.txt", "/self.txt"]) {
      expect([path, ask(path)]).toEqual([path, undefined]);
      expect([path, ask(path, {}, "POST")]).toEqual([path, undefined]);
    }
    expect(escapes).toContain(join(site.base, "secret.txt"));
  });

  test("source and hidden files that a link gives another name", () => {
    expect(ask("/source.txt")).toBe(undefined);
    expect(ask("/env.txt")).toBe(undefined);
  });

  test("pipes, devices and sockets, and none of them is waited for", async () => {
    const began = performance.now();
    expect(ask("/pipe.txt")).toBe(undefined);
    expect(performance.now() - began).toBeLessThan(1000);
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(join(site.root, "socket.txt"), resolve));
    expect(ask("/socket.txt")).toBe(undefined);
    await new Promise((resolve) => server.close(resolve));
  });

  test("anything from outside, for any path", async () => {
    const piece = fc.constantFrom(
      ...["/", "//", ".", "..", "/..", "/../", "\\", "%2e", "%2f", "\0", "secret.txt", "public", "outside", "out"],
      ...["x.php", "pic.txt", "ok.txt", ".env", " ", ":", "~", "index.html", "\u2025", "\uff0e", "\ud800"],
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 8 }), async (pieces) => {
        const path = pieces.join("");
        const body = await ask(path)?.text();
        expect(body?.includes("SECRET") ?? false).toBe(false);
        expect(await ask(`/${path}`)?.text().then((t) => t.includes("SECRET")) ?? false).toBe(false);
      }),
      { numRuns: 500 },
    );
  });

  test("names that are too long are nobody's trouble", () => {
    expect(ask(`/${"a".repeat(300)}`)).toBe(undefined);
    expect(ask(`/${"a/".repeat(5000)}b`)).toBe(undefined);
  });
});

describe("links", () => {
  test("within the root are followed", async () => {
    expect(await must(ask("/inside.txt")).text()).toBe("fine");
  });

  test("may lead into the folders named, and no source comes out of those either", async () => {
    site.write("outside/config.php", "<?php SECRET");
    site.link("public/follow.txt", "../outside/config.php");
    const following = asker({ root: site.root, follow: [join(site.base, "outside")] });
    expect(await must(following("/out/pic.txt")).text()).toBe("SECRET");
    expect(following("/follow.txt")).toBe(undefined);
    expect(following("/escape.txt")).toBe(undefined);
  });

  test("to the root itself may be turned while serving", async () => {
    site.write("releases/1/a.txt", "one");
    site.write("releases/2/a.txt", "two");
    site.link("current", "releases/1");
    const live = asker({ root: join(site.base, "current") });
    expect(await must(live("/a.txt")).text()).toBe("one");
    fs.symlinkSync("releases/2", join(site.base, "next"));
    fs.renameSync(join(site.base, "next"), join(site.base, "current"));
    expect(await must(live("/a.txt")).text()).toBe("two");
  });

  test("a root that is not there has no files", () => {
    const none = asker({ root: join(site.base, "nothing") });
    expect(none("/ok.txt")).toBe(undefined);
    expect(none("/")).toBe(undefined);
  });
});

describe("where a descriptor is", () => {
  for (const [name, whereIs] of [["by descriptor", byDescriptor], ["by path", byPath]] as const) {
    test(`${name}: links inside yes, outside no`, () => {
      const roots = new Roots([site.root], undefined, whereIs);
      for (const [path, allowed] of [["inside.txt", true], ["escape.txt", false], ["out/pic.txt", false]] as const) {
        const file = roots.open(join(site.root, path));
        expect([path, typeof file]).toEqual([path, allowed ? "object" : "undefined"]);
        if (typeof file === "object") fs.closeSync(file.fd);
      }
      expect(roots.open(join(site.root, ".git"))).toBe("folder");
    });
  }

  test("by path: a link swapped after the file was opened is found out", () => {
    const path = join(site.root, "swapped.txt");
    fs.symlinkSync("../secret.txt", path);
    const roots = new Roots([site.root], undefined, (fd, asked) => {
      fs.rmSync(asked);
      fs.symlinkSync("ok.txt", asked);
      return byPath(fd, asked);
    });
    expect(roots.open(path)).toBe(undefined);
  });
});
