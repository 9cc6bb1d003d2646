import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { type Ask, type Host, startWorker, type UploadedFile } from "./host.ts";
import { askPlain, multipart, type Part } from "./plain.ts";

const md5 = (text: string) => createHash("md5").update(text, "latin1").digest("hex");
/** Names of temporary files differ. */
const told = (text: string) => text.replaceAll(/\/\S*\/php\S+|\/\S*\/up-\d+/g, "TMP");

describe("FrankenPHP runtime: what a request brings", () => {
  let worker: Host;
  let folder: string;
  let count = 0;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "forms-"));
    worker = await startWorker("routes.php", { ini: { request_order: "GP" } });
  });
  afterAll(async () => {
    const { code, stderr } = await worker.stop();
    rmSync(folder, { recursive: true });
    expect([code, stderr.replaceAll(/to stderr\n|.*Input variables exceeded 1000.*\n/g, "")]).toEqual([0, ""]);
  });

  const same = async (ask: Ask, plain: Ask = ask) => {
    const [ours, theirs] = await Promise.all([worker.ask({ path: "/form", ...ask }), askPlain(plain)]);
    expect(told(ours.body)).toBe(told(theirs));
    return ours.body;
  };
  const save = (bytes: string) => {
    const path = join(folder, `up-${count++}`);
    writeFileSync(path, bytes, "latin1");
    return path;
  };
  /** As Fairlead takes a form apart. */
  const sameParts = (parts: readonly Part[], cookie = "") => {
    const { type, body } = multipart(parts);
    const plain = { method: "POST", headers: { "content-type": type, cookie }, body, query: "a=get&g=1" };
    const files = parts.flatMap(({ name, value, filename, mime = "" }): UploadedFile[] => {
      if (filename === undefined) return [];
      if (filename === "") return [[name, "", "", "", 4, 0]];
      return [[name, filename, mime, save(value), 0, value.length]];
    });
    const post = parts.flatMap(({ name, value, filename }) => filename === undefined ? [[name, value] as const] : []);
    return same({ ...plain, body: "", post, files }, plain);
  };

  test("$_GET and $_COOKIE are PHP's", async () => {
    await same({ query: "a=1&b[]=x&b[]=y&c[k][l]=2&a.b=3&d%20e=4&f=%00%ff&g&=h&i[=1&j[k=2&1=one&a=last" });
    await same({
      headers: { cookie: "a=1; b.c=2; a=second; d[x]=1; d[y]=2;e=%20+x;; f ; g=a=b; =none; 12=num; b_c=3" },
    });
    await same({
      headers: { cookie: "  __Host-a=1; .._Host-b=2; ..Host-c=3; _.Secure-d=4; __Secure-e=5; d[=6;x y=7" },
    });
    await same({ query: "a=get&x[p]=1&x[q]=2", headers: { cookie: "a=cookie" } });
  });

  test("$_GET is PHP's for all names", async () => {
    const piece = fc.constantFrom("a", "b", "1", "[", "]", "[]", ".", " ", "_", "%5B", "\u00e9", "[x]", "+");
    const word = fc.array(piece, { maxLength: 6 }).map((all) => all.join(""));
    const pairs = fc.array(fc.tuple(word, word), { maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(pairs, async (all) => {
        const body = all.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join("&");
        const utf8 = (text: string) => Buffer.from(text).toString("latin1");
        const headers = { "content-type": "application/x-www-form-urlencoded" };
        const post = all.map(([name, value]) => [utf8(name), utf8(value)] as const);
        await same({ method: "POST", headers, body, post, query: body });
      }),
      { numRuns: 10 },
    );
  });

  test("$_POST is for POST alone, and $_REQUEST has both", async () => {
    const form = {
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: "a=post&p=1",
      query: "a=get&g=1",
    };
    const post = [["a", "post"], ["p", "1"]] as const;
    await same({ method: "POST", ...form, post });
    await same({ method: "PUT", ...form, post });
  });

  test("no more than max_input_vars are taken, and no handler of the script's hears of it", async () => {
    const query = Array.from({ length: 1005 }, (_, i) => `v${i}=${i}`).join("&");
    const { body } = await worker.ask({ path: "/form", query });
    expect(body).toContain("[v999] => 999");
    expect(body).not.toContain("[v1000]");
    const post = Array.from({ length: 1005 }, (_, i) => [`l[${i}]`, "x"] as const);
    const long = await worker.ask({ path: "/form", method: "POST", post });
    expect(long.body).toContain("[999] => x");
    expect(long.body).not.toContain("[1000]");
  });

  test("max_input_vars does not count files", async () => {
    const ini = { max_input_vars: "3", max_file_uploads: "50", max_input_nesting_level: "64" };
    const few = await startWorker("routes.php", { ini });
    const names = ["a", "b[]", "b[]", "c.d[x]", "b[7]", "b[]", "e[][y]", "e[][y]", "b[7][z]", "1", "f[ ]"];
    const parts = names.map((name): Part => ({ name, filename: "n.txt", value: "v", mime: "text/plain" }));
    const { type, body } = multipart(parts);
    const files = names.map((name): UploadedFile => [name, "n.txt", "text/plain", save("v"), 0, 1]);
    const ours = await few.ask({ path: "/form", method: "POST", post: [], files });
    const theirs = await askPlain({ method: "POST", headers: { "content-type": type }, body }, ini);
    expect(told(ours.body)).toBe(told(theirs));
    expect((await few.stop()).code).toBe(0);
  });

  test("$_FILES is PHP's, byte for byte", async () => {
    const png = { value: "\x89PNG\r\n\0\xff", mime: "image/png" };
    await sameParts([
      { name: "title", value: "T" },
      { name: "one", filename: "a b.png", ...png },
      { name: "files[]", filename: "x.txt", value: "x", mime: "text/plain; charset=utf-8" },
      { name: "files[]", filename: "y.txt", value: "yy", mime: "text/plain" },
      { name: "doc[main]", filename: "m.pdf", value: "pdf", mime: "application/pdf" },
      { name: "doc[more][]", filename: "n.pdf", value: "", mime: "application/pdf" },
      { name: "none", filename: "", value: "", mime: "application/octet-stream" },
      { name: "list[]", value: "1" },
      { name: "list[]", value: "2" },
      { name: "a.b", value: "dot" },
    ], "a=cookie");
    await sameParts([
      { name: "folder[]", filename: "dir/sub/z.txt", value: "z", mime: "text/plain" },
      { name: "win", filename: "C:/x/w.txt", value: "w" },
      { name: "odd.name", filename: "..", value: "o", mime: "text/plain" },
      { name: "", filename: "b.txt", value: "b" },
      { name: "[x]", filename: "b.txt", value: "b" },
      { name: "ok[a][b][]", filename: "b.txt", value: "b" },
      { name: "ok[a][b][]", filename: "c.txt", value: "c" },
    ]);
    for (const bad of ["bad[", "bad]", "bad[a]b", "bad[a]b[c]", "x]y[", "a[[b]"]) {
      await sameParts([
        { name: "first", filename: "f.txt", value: "f" },
        { name: bad, filename: "b.txt", value: "b" },
        { name: "after", filename: "a.txt", value: "a" },
      ]);
    }
    await sameParts([
      { name: "MAX_FILE_SIZE", value: "3" },
      { name: "small", filename: "s", value: "123", mime: "text/plain" },
      { name: "big", filename: "b", value: "1234", mime: "text/plain" },
    ]);
  });

  test("uploads can be moved, and nothing else can", async () => {
    const bytes = "\0\xffupload".repeat(1000);
    const path = save(bytes);
    const to = join(folder, "moved");
    const files = [["f", "f.bin", "x/y", path, 0, bytes.length]] as const;
    const { body } = await worker.ask({ path: "/upload", query: `to=${to}`, method: "POST", files });
    expect(JSON.parse(body)).toEqual([true, false, false, true, false, md5(bytes), "644", false]);
    expect(readFileSync(to, "latin1")).toBe(bytes);
    const other = save("other");
    await worker.ask({ path: "/form", method: "POST", files: [["f", "f", "", other, 0, 5]] });
    expect((await worker.ask({ path: "/upload-again", query: `path=${other}` })).body).toBe("false");
  });

  test("uploads can be moved to another file system", async () => {
    if (!existsSync("/dev/shm")) return;
    const to = mkdtempSync("/dev/shm/forms-");
    const files = [["f", "f.bin", "x/y", save("across"), 0, 6]] as const;
    const { body } = await worker.ask({ path: "/upload", query: `to=${to}/f`, method: "POST", files });
    expect(JSON.parse(body)).toEqual([true, false, false, true, false, md5("across"), "644", false]);
    rmSync(to, { recursive: true });
  });

  test("php://input is the body: in the frame, in a file, or none", async () => {
    const raw = "\0\xff{json}".repeat(3000) + "end";
    const told = [raw.length, md5(raw), raw.slice(0, 4), "end", true];
    const inFrame = await worker.ask({ path: "/input", method: "POST", body: "abc".repeat(3) + "end" });
    expect(JSON.parse(inFrame.body)).toEqual([12, md5("abcabcabcend"), "abca", "end", true]);
    const none = await worker.ask({ path: "/input", method: "POST" });
    expect(JSON.parse(none.body).slice(0, 3)).toEqual([0, md5(""), ""]);
    const ascii = "0123456789".repeat(30_000) + "end";
    const inFile = await worker.ask({ path: "/input", method: "PUT", input: save(ascii) });
    expect(JSON.parse(inFile.body)).toEqual([ascii.length, md5(ascii), "0123", "end", true]);
    const bytes = await worker.ask({ path: "/input-hash", method: "POST", body: raw });
    expect(JSON.parse(bytes.body)).toEqual(told.slice(0, 2));
  });

  test("other php:// streams are PHP's own meanwhile", async () => {
    for (const ask of [{ body: "some body" }, { input: save("some body") }]) {
      const { body } = await worker.ask({ path: "/streams", method: "POST", ...ask });
      expect(body.slice(0, 4)).toBe("out ");
      expect(JSON.parse(body.slice(4))).toEqual(["ab", ["x\n", "y\n"], "SOME BODY", "nop", false, false, false, 2]);
    }
  });

  test("a body is no code", async () => {
    const { body } = await worker.ask({ path: "/include-input", method: "POST", body: '<?php echo "evil";' });
    expect(body).toBe("[false,false,false]");
  });

  test("filter_input() reads what came", async () => {
    const { body } = await worker.ask({ path: "/filter-input", query: "n=42" });
    expect(JSON.parse(body)).toEqual([42, null, false, 7, { n: 42, x: null }, null, true]);
  });
});
