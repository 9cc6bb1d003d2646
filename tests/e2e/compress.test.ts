/** Compression of PHP's pages and of files, on every host, by real clients. @module */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { gunzipSync, zstdDecompressSync } from "node:zlib";
import { RawClient } from "../support/raw_http.ts";
import { hosts, startServer, type TestServer, total } from "../support/server.ts";
import { allowSlowTests, waitFor } from "../support/wait.ts";

allowSlowTests(60_000);

const run = promisify(execFile);
const page = "<li>an item of a long list</li>\n";

for (const host of hosts().filter((name) => name === "bun" || name === "deno" || name === "binary")) {
  describe(`compression on ${host}`, () => {
    let server: TestServer;

    beforeAll(async () => {
      server = await startServer({
        host,
        config: {
          php: { concurrency: 2, front_controller: false },
          compress: { enabled: true },
          log: { format: "json" },
        },
      });
      const file = (name: string, text: string | Uint8Array) => writeFileSync(join(server.dir, "public", name), text);
      mkdirSync(join(server.dir, "public"), { recursive: true });
      file("page.php", `<?php echo str_repeat(${JSON.stringify(page)}, (int) $_GET['n']);`);
      file(
        "parts.php",
        `<?php foreach (['one', 'two', 'three'] as $word) @unlink(__DIR__ . "/../seen-$word");
        while (ob_get_level()) ob_end_flush();
        foreach (['one', 'two', 'three'] as $word) { echo $word, str_repeat('.', 10), "\\n"; flush();
          while (!file_exists(__DIR__ . "/../seen-$word")) { usleep(5000); clearstatcache(); } }`,
      );
      file("cut.php", `<?php echo getmypid(), str_repeat("\na line of text", 20000); flush(); sleep(30);`);
      file("app.css", "a { color: red }\n".repeat(1000));
      file("photo.png", randomBytes(5000));
    });
    afterAll(async () => await server?.[Symbol.asyncDispose]());

    /** As it was sent: `fetch` would unpack it. */
    async function raw(path: string, accept = "gzip") {
      const client = await RawClient.connect(server.port);
      await client.send(`GET ${path} HTTP/1.1\r\nHost: a\r\nAccept-Encoding: ${accept}\r\nConnection: close\r\n\r\n`);
      return (await client.read())!;
    }

    for (const n of [100, 1000, 100_000]) {
      test(`curl gets a page of ${n} lines as PHP wrote it`, async () => {
        const { stdout } = await run("curl", ["-s", "--compressed", `${server.url}/page.php?n=${n}`], {
          maxBuffer: 1e8,
        });
        expect(stdout === page.repeat(n)).toBe(true);
        const packed = await raw(`/page.php?n=${n}`);
        expect(packed.header("content-encoding")).toBe("gzip");
        expect(packed.header("vary")).toBe("Accept-Encoding");
        expect(gunzipSync(packed.body).toString() === page.repeat(n)).toBe(true);
      });
    }

    test("zstd comes first, and who takes nothing gets the page as it is", async () => {
      const zstd = await raw("/page.php?n=100", "gzip, br, zstd");
      expect(zstd.header("content-encoding")).toBe("zstd");
      expect(zstdDecompressSync(zstd.body).toString()).toBe(page.repeat(100));
      const plain = await raw("/page.php?n=100", "identity");
      expect([plain.header("content-encoding"), plain.text()]).toEqual([undefined, page.repeat(100)]);
    });

    test("a file is compressed, is the same file afterwards, and a photo is left alone", async () => {
      const css = await raw("/app.css");
      expect(gunzipSync(css.body).toString()).toBe("a { color: red }\n".repeat(1000));
      const etag = css.header("etag")!;
      expect(etag).toMatch(/^W\/"/);
      const again = await fetch(`${server.url}/app.css`, { headers: { "if-none-match": etag } });
      expect([again.status, again.headers.get("etag"), again.headers.get("vary")]).toEqual([
        304,
        etag,
        "Accept-Encoding",
      ]);
      const part = await fetch(`${server.url}/app.css`, { headers: { range: "bytes=0-9", "accept-encoding": "gzip" } });
      expect([part.status, await part.text()]).toEqual([206, "a { color:"]);
      expect((await raw("/photo.png")).header("content-encoding")).toBe(undefined);
    });

    test("a page that is flushed in parts arrives in parts", async () => {
      const response = await fetch(`${server.url}/parts.php`, { headers: { "accept-encoding": "gzip" } });
      let text = "";
      const decoder = new TextDecoder();
      for await (const bytes of response.body!) {
        text += decoder.decode(bytes, { stream: true });
        // The script goes on only once the client has seen the word.
        for (const word of ["one", "two", "three"]) {
          if (text.includes(`${word}.`)) writeFileSync(join(server.dir, `seen-${word}`), "");
        }
      }
      expect(text).toBe("one..........\ntwo..........\nthree..........\n");
    });

    test("a page whose process dies is cut off, not ended", async () => {
      const response = await fetch(`${server.url}/cut.php`, { headers: { "accept-encoding": "gzip" } });
      const reader = response.body!.getReader();
      const first = await reader.read();
      process.kill(Number.parseInt(new TextDecoder().decode(first.value)), "SIGKILL");
      const rest = async () => {
        for (let part = await reader.read(); !part.done; part = await reader.read());
      };
      await expect(rest()).rejects.toBeDefined();
    });

    test("and what broke off is nobody's mistake but PHP's", async () => {
      const left = new AbortController();
      const open = fetch(`${server.url}/parts.php`, { headers: { "accept-encoding": "gzip" }, signal: left.signal });
      await (await open).body!.getReader().read();
      left.abort();
      // The script may end.
      for (const word of ["one", "two", "three"]) writeFileSync(join(server.dir, `seen-${word}`), "");
      await waitFor(async () => total(await server.metrics(), "fairlead_http_requests_in_flight") === 0, {
        what: "it to be over",
      });
      expect(server.output()).not.toContain("nobody looked");
    });

    test("a head has no length that is not that of the page, nor an encoding that nobody knows yet", async () => {
      const head = async (path: string) => {
        const client = await RawClient.connect(server.port);
        await client.send(`HEAD ${path} HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n`);
        const response = (await client.read({ head: true }))!;
        return ["content-length", "content-encoding", "vary"].map((name) => response.header(name));
      };
      expect(await head("/page.php?n=100")).toEqual([undefined, undefined, "Accept-Encoding"]);
      expect(await head("/app.css")).toEqual([undefined, "gzip", "Accept-Encoding"]);
      expect(await head("/photo.png")).toEqual(["5000", undefined, undefined]);
    });

    test("what was sent is counted as sent", async () => {
      const before = await server.metrics();
      const { body } = await raw("/page.php?n=1000");
      const named = (name: string) => `fairlead_compress_${name}_total{encoding="gzip"}`;
      await waitFor(async () => {
        const after = await server.metrics();
        const grown = (name: string) => (after.get(named(name)) ?? 0) - (before.get(named(name)) ?? 0);
        return grown("responses") === 1 && grown("sent_bytes") === body.byteLength;
      }, { what: "the bytes of one response more" });
    });
  });
}
