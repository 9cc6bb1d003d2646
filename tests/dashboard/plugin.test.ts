import { describe, expect, test } from "bun:test";
import { Hono } from "hono";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { Exposition } from "../../core/contracts/exposition.ts";
import type { Hooks } from "../../core/plugin.ts";
import type { StandardSchema } from "../../core/standard_schema.ts";
import { dashboardFiles } from "../../plugins/dashboard/files.ts";
import plugin from "../../plugins/dashboard/plugin.ts";

/** The admin listener with nothing but this plugin, whose metrics are where it is told. */
async function load(config: unknown = {}, exposition?: Exposition): Promise<Hono> {
  const parsed = await (plugin.config as StandardSchema)["~standard"].validate(config);
  if (parsed.issues) throw new Error(parsed.issues.map(({ message }) => message).join("; "));
  const hooks = await plugin.setup({
    name: "dashboard",
    config: parsed.value,
    baseDir: "/",
    log() {},
    use: () => undefined as never,
    find: (token) => (token.id === Exposition.id ? exposition : undefined) as never,
    provide() {},
  });
  const app = new Hono();
  const onAdmin = hooks?.onAdmin as { readonly handler: Hooks["onAdmin"] } | undefined;
  onAdmin?.handler(app);
  return app;
}

describe("the dashboard plugin", () => {
  test("serves the page and its parts with their types, and lets nothing else run", async () => {
    const app = await load();
    const page = await app.request("/");
    expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    const html = await page.text();
    const parts = [...html.matchAll(/(?:src|href)="\.(\/-\/dashboard\/[^"]+)"/g)].map(([, path]) => path!);
    expect(parts.length).toBe(4);
    for (const path of [...parts, "/"]) {
      const response = await app.request(path);
      expect(response.status).toBe(200);
      const type = path.endsWith(".ts") ? "text/javascript" : path.endsWith(".css") ? "text/css" : "text/html";
      expect(response.headers.get("content-type")).toBe(`${type}; charset=utf-8`);
      expect(response.headers.get("content-security-policy")).toBe(
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
          "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      );
      expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    }
    // The policy forbids them: they would do nothing.
    expect(html).not.toMatch(/<style|<script(?![^>]*\bsrc=)|\son\w+=|\sstyle=/i);
    expect(html).not.toMatch(/https?:\/\//);
  });

  test("every module that one imports is served, and none reaches outside", () => {
    const files = dashboardFiles("/metrics");
    const seen = new Set(["/-/dashboard/browser/main.ts"]);
    for (const path of seen) {
      const file = files.get(path);
      expect([path, file === undefined]).toEqual([path, false]);
      for (const [, target] of file!.body.matchAll(/^\s*(?:import|export)\b[^"']*?\bfrom\s*"([^"]+)"/gm)) {
        expect(target).toMatch(/^\.{1,2}\//);
        seen.add(posix.join(dirname(path), target!));
      }
    }
    expect([...files.keys()].filter((path) => path.endsWith(".ts") && !seen.has(path))).toEqual([]);
  });

  test("answers 304 to who has it, and HEAD without a body", async () => {
    const app = await load();
    const etag = (await app.request("/")).headers.get("etag")!;
    expect(etag).toMatch(/^"[\w-]{22}"$/);
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
      const response = await app.request("/", { headers: { "if-none-match": known } });
      expect([response.status, await response.text(), response.headers.get("etag")]).toEqual([304, "", etag]);
    }
    expect((await app.request("/", { headers: { "if-none-match": '"other"' } })).status).toBe(200);
    const head = await app.request("/", { method: "HEAD" });
    expect([head.status, await head.text(), head.headers.get("etag")]).toEqual([200, "", etag]);
  });

  test("looks for the metrics where they are", async () => {
    const html = await (await (await load({}, { path: "/stats/prometheus" })).request("/")).text();
    expect(html).toContain('data-metrics="./stats/prometheus"');
    expect(html).not.toContain('"./metrics"');
  });

  test("can be switched off", async () => {
    expect((await (await load({ enabled: false })).request("/")).status).toBe(404);
  });

  test("puts nothing into the document but text, elements and attributes", () => {
    const folder = fileURLToPath(new URL("../../plugins/dashboard/", import.meta.url));
    const sources = ["browser", "page", "figures"].flatMap((room) =>
      readdirSync(join(folder, room)).filter((name) => name.endsWith(".ts")).map((name) => join(folder, room, name))
    );
    expect(sources.length).toBeGreaterThan(20);
    const writes =
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|\beval\b|Function\(|setHTML/;
    expect(sources.filter((path) => writes.test(readFileSync(path, "utf8")))).toEqual([]);
  });
});
