/**
 * The browser refresh on every host, with PHP: what pages get, what a listener is told and when, and what a real browser
 * makes of it, where there is one.
 *
 * @module
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, chromium, startBrowser } from "../support/browser.ts";
import { reload } from "../support/php_apps/reload.ts";
import { freePorts } from "../support/ports.ts";
import { hosts, runtimes, startServer, type TestServer } from "../support/server.ts";
import { allowSlowTests, waitFor, within } from "../support/wait.ts";

allowSlowTests(90_000);

const worker = `<?php
$said = require __DIR__ . '/app.php';
while (frankenphp_handle_request(function () use ($said) { echo "<h1>$said</h1>"; })) {}
`;

/** The page of php-fpm: a strict policy, a stylesheet, and a text that tests change. */
const page = (text: string) =>
  `<?php
header("Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'");
?><!doctype html><link rel="stylesheet" href="/a.css"><h1>${text}</h1>`;

/** A folder to serve, with files that were not written just now: OPcache keeps no younger ones. */
function makeSite(): string {
  const dir = mkdtempSync(join(tmpdir(), "fairlead-refresh-"));
  mkdirSync(join(dir, "public"));
  mkdirSync(join(dir, "views"));
  const files = {
    "public/index.php": page("one"),
    "public/a.css": "h1 { color: rgb(1, 0, 0) }",
    "public/large.php": "<?php for ($i = 0; $i < 20; $i++) { echo str_repeat('x', 50000); flush(); }",
    "public/sub/broken.php": "<?php this is not PHP",
    "views/mail.txt": "one",
    "app.php": "<?php return 'one';",
    "worker.php": worker,
  };
  mkdirSync(join(dir, "public/sub"));
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(dir, name), text);
    utimesSync(join(dir, name), 1_700_000_000, 1_700_000_000);
  }
  return dir;
}

const config = (ports: readonly number[]) => ({
  server: { listen: [`127.0.0.1:${ports[0]}`] },
  admin: { listen: `127.0.0.1:${ports[1]}` },
  php: {
    concurrency: 1,
    pools: { worker: { match: { path: ["/worker"] }, script: "worker.php", concurrency: 2, watch: ["app.php"] } },
  },
  refresh: { enabled: true, watch: ["views", "app.php"] },
});

const get = async (server: TestServer, path: string) =>
  await (await fetch(server.url + path, { headers: { accept: "text/html" } })).text();

const atOf = (body: string) => /data-at="([^"]+)"/.exec(body)?.[1] ?? "none";

/** Listens from a page's state on, until an event of the kind has come, or the stream's end. */
async function listen(server: TestServer, at: string) {
  const response = await fetch(`${server.url}/-/fairlead/refresh.events?at=${at}`);
  const reader = response.body!.pipeThrough(new TextDecoderStream() as never).getReader();
  let heard = "";
  return {
    status: response.status,
    async until(pattern: RegExp): Promise<string> {
      const read = async () => {
        while (!pattern.test(heard)) {
          const { done, value } = await reader.read();
          if (done) break;
          heard += value;
        }
      };
      await within(20_000, `hearing ${pattern}, after ${JSON.stringify(heard)}`, read());
      return heard;
    },
    close: () => reader.cancel(),
  };
}

for (const host of hosts().filter((name) => name in { bun: 1, deno: 1, binary: 1 })) {
  describe(`refresh on ${host}`, () => {
    let server: TestServer, dir: string;
    beforeAll(async () => {
      dir = makeSite();
      server = await startServer({ host, dir, config: config(await freePorts(2)) });
    });
    afterAll(async () => {
      await server?.[Symbol.asyncDispose]();
      rmSync(dir, { recursive: true, force: true });
    });

    test("says what it is at the start, and is no part of readiness", async () => {
      expect(server.output()).toContain("for development: pages get a script");
      expect(await (await fetch(`${server.adminUrl}/readyz`)).text()).not.toContain("refresh");
    });

    test("a large page comes with the script behind its last byte, and an error without a page with one, too", async () => {
      const large = await get(server, "/large.php");
      expect(/^x{1000000}\n<script [^>]*><\/script>\n$/.test(large)).toBe(true);
      expect(await get(server, "/sub/broken.php")).toMatch(/^<p>500, [^<]*<\/p>\n<script /);
      expect(await (await fetch(`${server.url}/large.php`)).text()).not.toContain("<script");
    });

    test("a page of php-fpm is new when browsers are told, also where OPcache has it", async () => {
      await get(server, "/");
      const before = await get(server, "/");
      expect(before).toContain("<h1>one</h1>");
      const listener = await listen(server, atOf(before));
      writeFileSync(join(dir, "public/index.php"), page("two"));
      await listener.until(/event: reload/);
      expect(await get(server, "/")).toContain("<h1>two</h1>");
      await listener.close();
    });

    test("workers have been replaced when browsers are told; of code that does not boot they are told why", async () => {
      const listener = await listen(server, atOf(await get(server, "/worker")));
      writeFileSync(join(dir, "app.php"), "<?php return 'two';");
      await listener.until(/event: reload/);
      for (let i = 0; i < 6; i++) expect(await get(server, "/worker")).toContain("<h1>two</h1>");
      await listener.close();

      const second = await listen(server, atOf(await get(server, "/worker")));
      writeFileSync(join(dir, "app.php"), "<?php this is not PHP");
      expect(await second.until(/event: \w+\ndata: .*\n/)).toMatch(
        /event: failed\ndata: "reload of php:worker failed: /,
      );
      expect(await get(server, "/worker")).toContain("<h1>two</h1>");
      writeFileSync(join(dir, "app.php"), "<?php return 'three';");
      await second.until(/event: reload/);
      expect(await get(server, "/worker")).toContain("<h1>three</h1>");
      await second.close();
    });

    test("files that it is told to watch count, and a reload that somebody asked for", async () => {
      const listener = await listen(server, atOf(await get(server, "/")));
      writeFileSync(join(dir, "views/mail.txt"), "two");
      await listener.until(/event: reload/);
      await listener.close();
      const second = await listen(server, atOf(await get(server, "/")));
      expect(await reload(server)).toEqual({ php: "ok", "php:worker": "ok" });
      await second.until(/event: reload/);
      await second.close();
    });

    test("listeners take no permit, are no request under way, and keep no server from ending", async () => {
      const at = atOf(await get(server, "/"));
      const listeners = await Promise.all([1, 2, 3].map(() => listen(server, at)));
      expect(listeners.map(({ status }) => status)).toEqual([200, 200, 200]);
      const metrics = await server.metrics();
      expect(metrics.get("fairlead_http_requests_in_flight")).toBe(0);
      expect(await get(server, "/")).toContain("<h1>");
      const end = performance.now();
      expect((await server.stop()).code).toBe(0);
      expect(performance.now() - end).toBeLessThan(5000);
    });
  });
}

describe.skipIf(chromium === undefined)("a browser", () => {
  let browser: Browser;
  beforeAll(async () => browser = await startBrowser());
  afterAll(async () => await browser?.[Symbol.asyncDispose]());

  for (const host of runtimes().filter((name) => name in { bun: 1, deno: 1, binary: 1 })) {
    test(`on ${host} takes a stylesheet without a reload, and loads the page for the rest, after a restart, too`, async () => {
      const dir = makeSite();
      const ports = await freePorts(2);
      let server = await startServer({ host, dir, config: config(ports) });
      try {
        const tab = await browser.open(`${server.url}/`);
        const shows = (what: string) =>
          waitFor(() => tab.evaluate(`document.readyState === "complete" && ${what}`), { what, timeout: 20_000 });
        await shows(`document.querySelector("h1")?.textContent === "one"`);
        await tab.evaluate("window.mark = 1");
        const color = (red: number) => `getComputedStyle(document.querySelector("h1")).color === "rgb(${red}, 0, 0)"`;
        await shows(color(1));

        for (const red of [2, 3]) {
          writeFileSync(join(dir, "public/a.css"), `h1 { color: rgb(${red}, 0, 0) }`);
          await shows(`${color(red)} && document.querySelectorAll("link").length === 1`);
        }
        expect(await tab.evaluate("window.mark")).toBe(1);

        writeFileSync(join(dir, "public/index.php"), page("two"));
        await shows(`window.mark === undefined && document.querySelector("h1").textContent === "two"`);

        await tab.evaluate("window.mark = 2");
        await server.stop();
        writeFileSync(join(dir, "public/index.php"), page("three"));
        server = await startServer({ host, dir, config: config(ports) });
        await shows(`window.mark === undefined && document.querySelector("h1").textContent === "three"`);

        await tab.goto(`${server.url}/worker`);
        await shows(`document.querySelector("h1").textContent === "one"`);
        writeFileSync(join(dir, "app.php"), "<?php return 'two';");
        await shows(`document.querySelector("h1").textContent === "two"`);
      } finally {
        await server[Symbol.asyncDispose]();
        rmSync(dir, { recursive: true, force: true });
      }
    });
  }
});
