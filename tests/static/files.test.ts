import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Ask, asker, LAST_MODIFIED, MTIME, must, openBelow, type Tree, tree } from "./support.ts";

let site: Tree;
let ask: Ask;

beforeAll(() => {
  site = tree();
  site.write("public/index.php", "<?php secret();");
  site.write("public/app.css", "body { color: red }");
  site.write("public/digits.txt", "0123456789");
  site.write("public/empty.txt", "");
  site.write("public/docs/index.html", "<h1>docs</h1>");
  site.write("public/docs/a b/index.html", "<h1>a b</h1>");
  site.write("public/admin/index.php", "<?php");
  site.write("public/admin/index.html", "<h1>not me</h1>");
  site.write("public/bare/x.txt", "x");
  site.write("public/pack.js", "plain");
  site.write("public/pack.js.br", "B", MTIME + 1);
  site.write("public/pack.js.gz", "GZIP", MTIME);
  site.write("public/stale.js", "plain", MTIME + 10);
  site.write("public/stale.js.br", "B", MTIME + 9);
  site.write("public/.well-known/security.txt", "mail us");
  site.write("public/build/app.js", "built");
  ask = asker({
    root: site.root,
    cache: [{ match: "/build/**", value: "public, max-age=31536000, immutable" }, {
      match: "/docs/*.html",
      value: "no-cache",
    }],
  });
});

afterAll(() => {
  expect(openBelow(site.base)).toEqual([]);
  site.remove();
});

const text = (response: Response | undefined) => must(response).text();

describe("a file", () => {
  test("comes with what it is, and how to recognise it", async () => {
    const response = must(ask("/app.css"));
    expect(response.status).toBe(200);
    const { etag, ...headers } = Object.fromEntries(response.headers);
    expect(headers).toEqual({
      "accept-ranges": "bytes",
      "content-length": "19",
      "content-type": "text/css; charset=utf-8",
      "last-modified": LAST_MODIFIED,
      "x-content-type-options": "nosniff",
    });
    expect(etag).toMatch(/^"[0-9a-z]+-j"$/);
    expect(await response.text()).toBe("body { color: red }");
  });

  test("HEAD has the same headers and no body", async () => {
    const head = must(ask("/app.css", {}, "HEAD"));
    expect([...head.headers]).toEqual([...must(ask("/app.css")).headers]);
    expect(await head.text()).toBe("");
    // Ranges are for GET.
    expect(must(ask("/digits.txt", { range: "bytes=0-1" }, "HEAD")).headers.get("content-length")).toBe("10");
  });

  test("may be empty", async () => {
    const response = must(ask("/empty.txt", { range: "bytes=0-" }));
    expect([response.status, response.headers.get("content-length")]).toEqual([200, "0"]);
    expect(await response.text()).toBe("");
  });

  test("other methods are refused where there is a file, and passed on where there is none", () => {
    for (const method of ["POST", "PUT", "DELETE", "PATCH", "PROPFIND"]) {
      const response = must(ask("/app.css", {}, method));
      expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
      expect(ask("/nothing.css", {}, method)).toBe(undefined);
      expect(ask("/", {}, method)).toBe(undefined);
    }
    const options = must(ask("/app.css", {}, "OPTIONS"));
    expect([options.status, options.headers.get("allow"), options.body]).toEqual([204, "GET, HEAD", null]);
    expect(ask("*", {}, "OPTIONS")).toBe(undefined);
  });

  test("its tag changes with its time and with its size", () => {
    const tags = [["a", 10], ["a", 11], ["aa", 10]].map(([content, at]) => {
      site.write("public/tag.txt", content as string, at as number);
      return must(ask("/tag.txt")).headers.get("etag");
    });
    expect(new Set(tags).size).toBe(3);
  });

  test("a date in the future is not sent", () => {
    site.write("public/future.txt", "x", 4_000_000_000);
    const serve = asker({ root: site.root, now: () => MTIME * 1000 + 999 });
    expect(must(serve("/future.txt")).headers.get("last-modified")).toBe(LAST_MODIFIED);
  });

  test("Cache-Control by path, also on 304, and for the index by its own name", () => {
    const built = must(ask("/build/app.js"));
    expect(built.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    const again = must(ask("/build/app.js", { "if-none-match": built.headers.get("etag") as string }));
    expect([again.status, again.headers.get("cache-control")]).toEqual([304, "public, max-age=31536000, immutable"]);
    expect(must(ask("/docs/")).headers.get("cache-control")).toBe("no-cache");
    expect(must(ask("/app.css")).headers.get("cache-control")).toBe(null);
  });
});

describe("conditions", () => {
  test("304 has validators and no body", async () => {
    const etag = must(ask("/app.css")).headers.get("etag") as string;
    for (const headers of [{ "if-none-match": `"x", W/${etag}` }, { "if-modified-since": LAST_MODIFIED }]) {
      for (const method of ["GET", "HEAD"]) {
        const response = must(ask("/app.css", headers, method));
        expect([response.status, response.headers.get("etag"), await response.text()]).toEqual([304, etag, ""]);
        expect(response.headers.get("content-length")).toBe(null);
        expect(response.headers.get("content-type")).toBe(null);
      }
    }
  });

  test("412 comes before everything, ranges last", async () => {
    expect(must(ask("/app.css", { "if-match": '"x"', "if-none-match": "*" })).status).toBe(412);
    expect(must(ask("/app.css", { "if-unmodified-since": "Mon, 06 May 2024 07:08:08 GMT" })).status).toBe(412);
    expect(must(ask("/digits.txt", { "if-none-match": "*", range: "bytes=99-" })).status).toBe(304);
    expect(await text(ask("/digits.txt", { "if-match": "*", range: "bytes=1-2" }))).toBe("12");
  });
});

describe("ranges", () => {
  test("one", async () => {
    for (const [range, bytes, body] of [["0-0", "0-0", "0"], ["3-", "3-9", "3456789"], ["-2", "8-9", "89"]]) {
      const response = must(ask("/digits.txt", { range: `bytes=${range}` }));
      expect(response.status).toBe(206);
      expect(response.headers.get("content-range")).toBe(`bytes ${bytes}/10`);
      expect(response.headers.get("content-length")).toBe(String(body?.length));
      expect(response.headers.get("content-type")).toBe("text/plain; charset=utf-8");
      expect(await response.text()).toBe(body as string);
    }
  });

  test("several, to the byte", async () => {
    const response = must(ask("/digits.txt", { range: "bytes=0-0,-2,4-5" }));
    expect(response.status).toBe(206);
    const boundary = /^multipart\/byteranges; boundary=([\w-]+)$/.exec(response.headers.get("content-type") ?? "")?.[1];
    expect(boundary).toBeDefined();
    expect(response.headers.get("content-range")).toBe(null);
    const part = (range: string, bytes: string) =>
      `--${boundary}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Range: bytes ${range}/10\r\n\r\n${bytes}\r\n`;
    const body = `${part("0-0", "0")}${part("8-9", "89")}${part("4-5", "45")}--${boundary}--\r\n`;
    expect(response.headers.get("content-length")).toBe(String(body.length));
    expect(await response.text()).toBe(body);
  });

  test("several of which one can be had are one", async () => {
    const response = must(ask("/digits.txt", { range: "bytes=99-,7-8" }));
    expect([response.status, response.headers.get("content-range"), await response.text()])
      .toEqual([206, "bytes 7-8/10", "78"]);
  });

  test("out of reach", async () => {
    const response = must(ask("/digits.txt", { range: "bytes=10-" }));
    expect([response.status, response.headers.get("content-range")]).toEqual([416, "bytes */10"]);
    expect(await response.text()).toBe("");
  });

  test("nonsense and overlaps are the whole", async () => {
    for (const range of ["bytes=x", "bytes=0-5,2-8", "seconds=1-2", "bytes=5-1"]) {
      const response = must(ask("/digits.txt", { range }));
      expect([response.status, await response.text()]).toEqual([200, "0123456789"]);
    }
  });

  test("If-Range decides between the part and the whole", async () => {
    const etag = must(ask("/digits.txt")).headers.get("etag") as string;
    const status = (value: string) => must(ask("/digits.txt", { range: "bytes=1-2", "if-range": value })).status;
    expect(status(etag)).toBe(206);
    expect(status(LAST_MODIFIED)).toBe(206);
    expect(status(`W/${etag}`)).toBe(200);
    expect(status('"old"')).toBe(200);
    expect(status("Mon, 06 May 2024 07:08:10 GMT")).toBe(200);
    // What does not apply is not looked at.
    expect(must(ask("/digits.txt", { range: "bytes=99-", "if-range": '"old"' })).status).toBe(200);
  });
});

describe("precompressed siblings", () => {
  test("are sent to those who take them, as the type of the file", async () => {
    const br = must(ask("/pack.js", { "accept-encoding": "gzip, br" }));
    expect(await br.text()).toBe("B");
    expect(br.headers.get("content-encoding")).toBe("br");
    expect(br.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
    expect(br.headers.get("vary")).toBe("Accept-Encoding");
    expect(await text(ask("/pack.js", { "accept-encoding": "gzip" }))).toBe("GZIP");
    const plain = must(ask("/pack.js"));
    expect([await plain.text(), plain.headers.get("content-encoding")]).toEqual(["plain", null]);
    expect(plain.headers.get("vary")).toBe("Accept-Encoding");
  });

  test("have tags of their own", () => {
    const tag = (encoding: string) => must(ask("/pack.js", { "accept-encoding": encoding })).headers.get("etag");
    const tags = ["br", "gzip", "identity"].map(tag) as string[];
    expect(new Set(tags).size).toBe(3);
    const again = (encoding: string) =>
      must(ask("/pack.js", { "accept-encoding": encoding, "if-none-match": tags[0] as string }));
    expect(again("br").status).toBe(304);
    expect(again("br").headers.get("vary")).toBe("Accept-Encoding");
    expect(again("gzip").status).toBe(200);
  });

  test("ranges are of the bytes that are sent", async () => {
    const response = must(ask("/pack.js", { "accept-encoding": "gzip", range: "bytes=1-2" }));
    expect([response.status, response.headers.get("content-range"), await response.text()])
      .toEqual([206, "bytes 1-2/4", "ZI"]);
    expect(response.headers.get("content-encoding")).toBe("gzip");
  });

  test("are not used when older than the file, nor when switched off", async () => {
    const stale = must(ask("/stale.js", { "accept-encoding": "br" }));
    expect([await stale.text(), stale.headers.get("vary")]).toEqual(["plain", null]);
    const off = asker({ root: site.root, precompressed: false });
    const response = must(off("/pack.js", { "accept-encoding": "br" }));
    expect([await response.text(), response.headers.get("vary")]).toEqual(["plain", null]);
  });

  test("a folder or a link to elsewhere is no sibling", async () => {
    site.write("public/odd.js", "plain");
    site.write("public/odd.js.br/x", "x");
    site.write("secret.gz", "SECRET");
    site.link("public/odd.js.gz", "../secret.gz");
    expect(await text(ask("/odd.js", { "accept-encoding": "br, gzip" }))).toBe("plain");
  });
});

describe("folders", () => {
  test("are answered with their index, the first that exists", async () => {
    expect(await text(ask("/docs/"))).toBe("<h1>docs</h1>");
    expect(must(ask("/docs/")).headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(ask("/")).toBe(undefined);
    expect(ask("/admin/")).toBe(undefined);
    expect(ask("/admin")).toBe(undefined);
    const html = asker({ root: site.root, index: ["index.html", "index.php"] });
    expect(await text(html("/admin/"))).toBe("<h1>not me</h1>");
  });

  test("are never listed", () => {
    expect(ask("/bare/")).toBe(undefined);
    expect(ask("/bare")).toBe(undefined);
    expect(ask("/nowhere/")).toBe(undefined);
    expect(ask("/app.css/")).toBe(undefined);
    expect(ask("/app.css/x")).toBe(undefined);
  });

  test("are redirected to with their slash and the query", () => {
    const to = (path: string, query = "", method = "GET") => {
      const response = must(ask(path, {}, method, query));
      return [response.status, response.headers.get("location") ?? response.headers.get("allow")];
    };
    expect(to("/docs")).toEqual([301, "/docs/"]);
    expect(to("/docs", "a=1&b=//x")).toEqual([301, "/docs/?a=1&b=//x"]);
    expect(to("/docs", "a=\u00e9\r\nx: y")).toEqual([301, "/docs/?a=%C3%A9%0D%0Ax:%20y"]);
    expect(to("/docs/a b", "", "HEAD")).toEqual([301, "/docs/a%20b/"]);
    expect(to("/docs", "", "POST")).toEqual([405, "GET, HEAD"]);
  });

  test("never lead to another host", () => {
    site.write("public/evil.example/index.html", "x");
    for (const path of ["//evil.example", "/\\evil.example", "///evil.example"]) expect(ask(path)).toBe(undefined);
  });

  test(".well-known is served", async () => {
    expect(await text(ask("/.well-known/security.txt"))).toBe("mail us");
  });
});

test("a new version of a file is sent at once", async () => {
  const file = join(site.root, "live.txt");
  writeFileSync(file, "one");
  expect(await text(ask("/live.txt"))).toBe("one");
  writeFileSync(file, "two!");
  utimesSync(file, MTIME, MTIME);
  expect(await text(ask("/live.txt"))).toBe("two!");
});
