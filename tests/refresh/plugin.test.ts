import { describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type AnyPlugin, configure, startServer } from "../../mod.ts";
import { anything } from "../../core/standard_schema.ts";
import { waitFor, within } from "../support/wait.ts";

/** Stands in for PHP: a small page, one in pieces, and what must not be touched. */
const app: AnyPlugin = {
  name: "app",
  api: 1,
  config: anything,
  setup: () => ({
    onResolve(x) {
      x.extra.push(["x-app", "1"]);
      const html = (body: string | null, headers: Record<string, string> = {}, status = 200) =>
        new Response(body, { status, headers: { "content-type": "text/html", ...headers } });
      switch (x.path) {
        case "/made":
          return x.respond([new TextEncoder().encode("<h1>made</h1>")], 200, [["content-type", "text/html"]]);
        case "/large":
          return x.respond([new Uint8Array(50_000).fill(65)], 200, [["content-type", "text/html"]]);
        case "/strict":
          return html("<h1>strict</h1>", { "content-security-policy": "script-src 'nonce-abc'" });
        case "/broken":
          return html(null, {}, 500);
        case "/packed":
          return html("not gzip at all", { "content-encoding": "gzip" });
        case "/json":
          return new Response("{}", { headers: { "content-type": "application/json" } });
      }
    },
  }),
};

interface Site {
  readonly url: string;
  readonly dir: string;
  stop(): Promise<readonly Error[]>;
}

async function serve(refresh: Record<string, unknown>, server: Record<string, unknown> = {}): Promise<Site> {
  const dir = mkdtempSync(join(tmpdir(), "fairlead-refresh-"));
  mkdirSync(join(dir, "public"));
  writeFileSync(join(dir, "public/page.html"), "<h1>page</h1>");
  writeFileSync(join(dir, "public/large.html"), "x".repeat(100_000));
  writeFileSync(join(dir, "public/a.css"), "h1 { color: red }");
  const running = await startServer(
    await configure({
      server: { listen: ["127.0.0.1:0"], public: "./public", ...server },
      admin: { listen: "" },
      log: { level: "error", access: "off" },
      php: { fastcgi: "127.0.0.1:1", concurrency: 1, front_controller: false },
      ...(Object.keys(refresh).length === 0 ? {} : { refresh }),
    }, { plugins: [app], baseDir: dir }),
  );
  const [at] = running.addresses;
  if (at?.kind !== "tcp") throw new Error("expected a TCP address");
  return {
    url: `http://127.0.0.1:${at.port}`,
    dir,
    async stop() {
      const failed = await running.stop();
      rmSync(dir, { recursive: true });
      return failed;
    },
  };
}

const accept = "text/html,*/*;q=0.8";
const script = /\n<script src="\/-\/fairlead\/refresh\.js" data-at="[0-9a-f-]{36}\.\d+" async><\/script>\n$/;
const page = (site: Site, path: string, headers: Record<string, string> = {}) =>
  fetch(site.url + path, { headers: { accept, ...headers }, redirect: "manual" });

/** Listens until `pattern` has been heard, or the stream's end. */
async function hear(body: ReadableStream<Uint8Array>, pattern: RegExp): Promise<string> {
  const reader = body.pipeThrough(new TextDecoderStream() as never).getReader() as ReadableStreamDefaultReader<string>;
  let heard = "";
  for (let r = await reader.read(); !r.done; r = await reader.read()) {
    heard += r.value;
    if (pattern.test(heard)) break;
  }
  await reader.cancel();
  return heard;
}

describe("refresh", () => {
  test("appends the script to pages of files, routes and scripts, and touches nothing else", async () => {
    const site = await serve({ enabled: true });
    for (const path of ["/page.html", "/large.html", "/made", "/large"]) {
      const response = await page(site, path);
      const body = await response.text();
      expect([path, script.test(body)]).toEqual([path, true]);
      expect(body.split("<script").length).toBe(2);
      const length = response.headers.get("content-length");
      expect(length === null || Number(length) === new TextEncoder().encode(body).byteLength).toBe(true);
      const { headers } = response;
      expect([headers.get("etag"), headers.get("last-modified")]).toEqual([null, null]);
      expect(headers.get("cache-control")).toBe("no-store");
      expect(headers.get("x-request-id")).toMatch(/^[^,]+$/);
      if (path === "/made") expect(headers.get("x-app")).toBe("1");
    }
    expect(await (await page(site, "/strict")).text()).toContain(' nonce="abc" async></script>');
    expect(await (await page(site, "/broken")).text()).toMatch(/^<p>500, .*<\/p>\n<script /);

    expect(await (await fetch(`${site.url}/page.html`)).text()).toBe("<h1>page</h1>");
    expect(await (await page(site, "/page.html", { "sec-fetch-dest": "empty" })).text()).toBe("<h1>page</h1>");
    expect(await (await page(site, "/page.html", { range: "bytes=0-3" })).text()).toBe("<h1>");
    expect(await (await page(site, "/json")).text()).toBe("{}");
    expect((await fetch(`${site.url}/page.html`, { method: "HEAD", headers: { accept } })).headers.get("etag")).not
      .toBeNull();
    expect(await site.stop()).toEqual([]);
  });

  test("has browsers ask again for files, and gives the page whole to who has it without the script", async () => {
    const site = await serve({ enabled: true });
    const css = await fetch(`${site.url}/a.css`);
    const etag = css.headers.get("etag")!;
    expect([await css.text(), css.headers.get("cache-control")]).toEqual(["h1 { color: red }", "no-cache"]);
    expect((await fetch(`${site.url}/a.css`, { headers: { "if-none-match": etag } })).status).toBe(304);
    const known = (await fetch(`${site.url}/page.html`)).headers.get("etag")!;
    const again = await page(site, "/page.html", { "if-none-match": known });
    expect([again.status, script.test(await again.text())]).toEqual([200, true]);
    await site.stop();
  });

  test("serves the script, and tells who listens of changes; who comes later hears what he missed", async () => {
    const site = await serve({ enabled: true, watch: ["templates"] });
    const code = await fetch(`${site.url}/-/fairlead/refresh.js`);
    expect(code.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
    const text = await code.text();
    new Function(text);
    const at = /data-at="([^"]+)"/.exec(await (await page(site, "/made")).text())![1]!;
    const events = (at: string) => fetch(`${site.url}/-/fairlead/refresh.events?at=${at}`);

    const first = await events(at);
    expect(first.headers.get("content-type")).toBe("text/event-stream");
    writeFileSync(join(site.dir, "public/a.css"), "h1 { color: green }");
    const heard = await within(5000, "the change", hear(first.body!, /data: .*\n\n/));
    const [start] = at.split(".");
    expect(heard).toContain(`id: ${start}.1\nevent: css\ndata: ["/a.css"]\n\n`);

    mkdirSync(join(site.dir, "templates"));
    writeFileSync(join(site.dir, "templates/a.blade"), "x");
    const later = await events(at);
    expect(await within(10_000, "the second change", hear(later.body!, /event: reload/))).toContain("event: css");
    expect(await within(5000, "a reload", hear((await events("other.7")).body!, /data: .*\n\n/))).toContain(
      "event: reload",
    );
    await site.stop();
  });

  test("listens to no other site, is bounded, and keeps no server from ending", async () => {
    const site = await serve({ enabled: true }, { drain: "20s" });
    const url = `${site.url}/-/fairlead/refresh.events`;
    expect((await fetch(url, { headers: { "sec-fetch-site": "cross-site" } })).status).toBe(403);
    expect((await fetch(url, { headers: { origin: "http://evil.example" } })).status).toBe(403);
    const leaving = new AbortController();
    const open = await Promise.all(Array.from({ length: 64 }, () => fetch(url, { signal: leaving.signal })));
    expect(open.map(({ status }) => status)).toEqual(open.map(() => 200));
    expect((await fetch(url)).status).toBe(503);
    leaving.abort();
    const next = await waitFor(async () => {
      const response = await fetch(url);
      if (response.status === 200) return response;
      await response.body?.cancel();
      return undefined;
    }, { what: "room" });
    const ended = next.text();
    expect(await within(3000, "the end of a server with somebody listening", site.stop())).toEqual([]);
    expect(await ended).toContain(":");
  });

  test("is not there for clients from afar, nor at all when it is off", async () => {
    const far = { "x-forwarded-for": "192.0.2.7" };
    const near = await serve({ enabled: true });
    expect(await (await page(near, "/made", far)).text()).toBe("<h1>made</h1>");
    expect((await page(near, "/-/fairlead/refresh.js", far)).status).toBe(404);
    expect((await fetch(`${near.url}/a.css`, { headers: far })).headers.get("cache-control")).toBeNull();
    await near.stop();

    const anyone = await serve({ enabled: true, anyone: true });
    expect(await (await page(anyone, "/made", far)).text()).toMatch(script);
    await anyone.stop();

    for (const off of [{}, { enabled: false }]) {
      const site = await serve(off);
      expect(await (await page(site, "/made")).text()).toBe("<h1>made</h1>");
      expect((await page(site, "/page.html")).headers.get("etag")).not.toBeNull();
      expect((await page(site, "/-/fairlead/refresh.js")).status).toBe(404);
      await site.stop();
    }
  });
});
