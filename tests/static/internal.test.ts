import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { InternalFiles } from "../../plugins/static/internal.ts";
import { LAST_MODIFIED, request, type Tree, tree } from "./support.ts";

let site: Tree;
const missing: string[] = [];

beforeAll(() => {
  site = tree();
  site.write("storage/a.txt", "0123456789");
  site.write("storage/deep/ä b.txt", "umlaut");
  site.write("storage/config.php", "<?php secret");
  site.write("storage/.env", "secret");
  site.write("storage/a.txt.gz", "a sibling");
  site.write("secret.txt", "outside");
  site.write("storage2/x.txt", "neighbour");
  site.link("storage/out.txt", "../secret.txt");
});

afterAll(() => site.remove());

function answer(
  said: Record<string, string>,
  asked: Record<string, string> = {},
  method = "GET",
): Response | undefined {
  const folders = { "/protected/": `${site.base}/storage/`, "/protected/deeper/": `${site.base}/storage/deep` };
  const internal = new InternalFiles({ folders, onMissing: (value) => void missing.push(value) });
  return internal.answer(request("/download.php", asked, method), new Headers(said));
}

describe("InternalFiles", () => {
  test("sends what X-Accel-Redirect or X-Sendfile names", async () => {
    const named = [
      { "x-accel-redirect": "/protected/a.txt" },
      { "x-accel-redirect": "/protected/%61.txt?x=1" },
      { "x-accel-redirect": "/protected/deep/../a.txt" },
      // As Symfony writes it.
      { "x-accel-redirect": "%2Fprotected%2Fa.txt" },
      { "x-sendfile": `${site.base}/storage/a.txt` },
    ];
    for (const said of named) expect([said, await answer(said)?.text()]).toEqual([said, "0123456789"]);
    expect(await answer({ "x-accel-redirect": "/protected/deeper/%C3%A4%20b.txt" })?.text()).toBe("umlaut");
    const bytes = String.fromCharCode(...new TextEncoder().encode(`${site.base}/storage/deep/ä b.txt`));
    expect(await answer({ "x-sendfile": bytes })?.text()).toBe("umlaut");
  });

  test("has nothing to do with other answers", () => {
    expect(answer({ "content-type": "text/html" })).toBe(undefined);
  });

  test("knows by which paths nobody may ask", () => {
    const internal = new InternalFiles({ folders: { "/protected/": site.base } });
    expect(["/protected/", "/protected/a", "/protected", "/a"].map((path) => internal.has(path)))
      .toEqual([true, true, false, false]);
  });

  test("keeps the application's headers, and the file's own where they are about its bytes", () => {
    const said = {
      "x-accel-redirect": "/protected/a.txt",
      "x-accel-buffering": "yes",
      "content-type": "application/pdf",
      "content-length": "0",
      "content-disposition": 'attachment; filename="b.pdf"',
      "cache-control": "private",
      "etag": '"theirs"',
      "last-modified": "Thu, 01 Jan 1970 00:00:00 GMT",
    };
    const headers = answer(said)!.headers;
    expect([...headers.keys()].sort()).toEqual([
      "accept-ranges",
      "cache-control",
      "content-disposition",
      "content-length",
      "content-type",
      "etag",
      "last-modified",
      "x-content-type-options",
    ]);
    expect([headers.get("content-type"), headers.get("content-length"), headers.get("cache-control")])
      .toEqual(["application/pdf", "10", "private"]);
    expect([headers.get("last-modified"), headers.get("etag") === '"theirs"']).toEqual([LAST_MODIFIED, false]);
  });

  test("sends every cookie", () => {
    const internal = new InternalFiles({ folders: { "/p/": `${site.base}/storage` } });
    const said = new Headers({ "x-accel-redirect": "/p/a.txt" });
    for (const cookie of ["a=1; Path=/", "b=2"]) said.append("set-cookie", cookie);
    expect(internal.answer(request("/x"), said)!.headers.getSetCookie()).toEqual(["a=1; Path=/", "b=2"]);
  });

  test("answers ranges, conditions and HEAD, and any method as a GET", async () => {
    const said = { "x-accel-redirect": "/protected/a.txt", "content-type": "text/x" };
    const part = answer(said, { range: "bytes=2-4" })!;
    expect([part.status, await part.text(), part.headers.get("content-range"), part.headers.get("content-type")])
      .toEqual([206, "234", "bytes 2-4/10", "text/x"]);
    const parts = answer(said, { range: "bytes=0-0,5-5" })!;
    expect([parts.status, parts.headers.get("content-type")?.split(";")[0]]).toEqual([206, "multipart/byteranges"]);
    const etag = answer(said)!.headers.get("etag")!;
    expect(answer(said, { "if-none-match": etag })!.status).toBe(304);
    expect(answer(said, { range: "bytes=99-" })!.status).toBe(416);
    expect(await answer(said, {}, "POST")!.text()).toBe("0123456789");
    const head = answer(said, {}, "HEAD")!;
    expect([head.headers.get("content-length"), await head.text()]).toEqual(["10", ""]);
    expect(answer(said, { "accept-encoding": "gzip" })!.headers.get("content-encoding")).toBe(null);
  });

  test("never leaves the folders, shows source or hidden files, and says what was asked for", () => {
    const wrong = [
      { "x-accel-redirect": "/protected/../secret.txt" },
      { "x-accel-redirect": "/protected/%2e%2e/secret.txt" },
      { "x-accel-redirect": "%2Fprotected%2F..%2F..%2Fsecret.txt" },
      { "x-accel-redirect": "%252Fprotected%252Fa.txt" },
      { "x-accel-redirect": "/elsewhere/a.txt" },
      { "x-accel-redirect": "/protected/" },
      { "x-accel-redirect": "/protected/deep" },
      { "x-accel-redirect": "/protected/out.txt" },
      { "x-accel-redirect": "/protected/config.php" },
      { "x-accel-redirect": "/protected/.env" },
      { "x-accel-redirect": "" },
      { "x-sendfile": `${site.base}/storage/../secret.txt` },
      { "x-sendfile": `${site.base}/storage2/x.txt` },
      { "x-sendfile": "storage/a.txt" },
      { "x-sendfile": "/etc/passwd" },
    ];
    for (const said of wrong) {
      missing.length = 0;
      const found = answer({ ...said, "content-type": "text/html", "set-cookie": "a=b" })!;
      expect([said, found.status, found.headers.has("set-cookie")]).toEqual([said, 404, false]);
      expect(missing).toEqual(Object.values(said));
    }
  });
});
