/**
 * The page on the admin listener, as browsers get it, and what it asks for.
 *
 * @module
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Watch } from "../../plugins/dashboard/figures/watch.ts";
import type { Frame } from "../../plugins/dashboard/figures/frame.ts";
import { ask } from "../support/raw_http.ts";
import { hosts, startServer, type TestServer } from "../support/server.ts";
import { allowSlowTests, waitFor } from "../support/wait.ts";

allowSlowTests(60_000);

for (const host of hosts().filter((name) => name === "bun" || name === "deno" || name === "binary")) {
  describe(`the dashboard of ${host}`, () => {
    let server: TestServer;
    beforeAll(async () => {
      server = await startServer({ host, config: { php: { concurrency: 2 }, log: { access: "off" } } });
    });
    afterAll(async () => await server?.[Symbol.asyncDispose]());

    test("the page and its parts come from the admin listener, with types and a policy", async () => {
      const page = await fetch(`${server.adminUrl}/`);
      const html = await page.text();
      const parts = [...html.matchAll(/(?:src|href)="\.\/(-\/dashboard\/[^"]+)"/g)].map(([, path]) => path!);
      expect(parts.length).toBe(4);
      const seen = new Set(parts);
      for (const path of seen) {
        const part = await fetch(`${server.adminUrl}/${path}`);
        const text = await part.text();
        const type = path.endsWith(".ts") ? "text/javascript" : "text/css";
        expect([path, part.status, part.headers.get("content-type")]).toEqual([path, 200, `${type}; charset=utf-8`]);
        expect(part.headers.get("content-security-policy")).toContain("default-src 'none'; script-src 'self'");
        for (const [, target] of text.matchAll(/^\s*(?:import|export)\b[^"']*?\bfrom\s*"([^"]+)"/gm)) {
          seen.add(new URL(target!, `http://x/${path}`).pathname.slice(1));
        }
      }
      expect(seen.size).toBeGreaterThan(20);
      expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
      expect(page.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    });

    test("the start says where to look", () => {
      expect(server.output()).toContain(`dashboard, metrics and health on ${server.adminUrl}/`);
    });

    test("a browser that has it is told so, and HEAD brings the headers alone", async () => {
      const { headers } = await fetch(`${server.adminUrl}/`);
      const known = { "if-none-match": headers.get("etag")! };
      const again = await fetch(`${server.adminUrl}/`, { headers: known });
      expect([again.status, await again.text()]).toEqual([304, ""]);
      const head = await fetch(`${server.adminUrl}/`, { method: "HEAD" });
      expect([head.status, await head.text(), head.headers.get("etag")]).toEqual([200, "", headers.get("etag")]);
    });

    test("nothing of it is on the public listener", async () => {
      for (const path of ["/", "/-/dashboard/browser/main.ts", "/-/dashboard/browser/page.css"]) {
        const response = await fetch(`${server.url}${path}`);
        expect([path, response.status]).toEqual([path, 404]);
        expect(await response.text()).not.toContain("dashboard");
      }
    });

    test("a page that has a name of its own point here reads nothing, and no page of another site resets anything", async () => {
      const { port } = new URL(server.adminUrl);
      const answer = async (...head: readonly string[]) => await ask(Number(port), [...head, "", ""].join("\r\n"));
      const read = await answer("GET /metrics HTTP/1.1", `Host: evil.example:${port}`);
      expect([read?.status, JSON.parse(read?.text() ?? "").code]).toEqual([421, "ADMIN_HOST"]);
      const host = `Host: 127.0.0.1:${port}`;
      const reload = await answer("POST /-/reload HTTP/1.1", host, "Origin: https://evil.example", "Content-Length: 0");
      expect([reload?.status, JSON.parse(reload?.text() ?? "").code]).toEqual([403, "ADMIN_ORIGIN"]);
    });

    test("what it reckons from the metrics is what the server did", async () => {
      const watch = new Watch();
      const look = async (at: number): Promise<Frame> => {
        const response = await fetch(`${server.adminUrl}/metrics`, {
          headers: { accept: "text/plain; version=0.0.4" },
        });
        watch.take(at, await response.text());
        return watch.history.last!;
      };
      await look(0);
      for (let i = 0; i < 10; i++) await (await fetch(`${server.url}/missing.txt`)).text();
      // A request is counted after its last byte.
      const frame = await waitFor(async () => {
        const found = await look(2000 + watch.history.moments.length);
        const counted = watch.history.total(({ traffic }) => traffic.byStatus["4xx"].increase);
        return counted >= 10 && found.lanes[0]?.processes?.starting === 0 ? found : undefined;
      }, { what: "ten requests to be counted, and both processes to be up" });
      expect(watch.history.total(({ traffic }) => traffic.all.increase)).toBe(10);
      expect(frame.lanes.map(({ name, limit, inUse, queued }) => [name, limit, inUse, queued])).toEqual([[
        "php",
        2,
        0,
        0,
      ]]);
      expect(frame.lanes[0]!.processes).toMatchObject({ wanted: 2, busy: 0, idle: 2, starting: 0 });
      expect(frame.host.version).toBe("0.1.0");
      expect(frame.host.resident!).toBeGreaterThan(1e6);
    });
  });

  test(`names of the admin listener of ${host} are a setting`, async () => {
    await using named = await startServer({
      host,
      config: { admin: { hosts: ["metrics.internal"] } },
    });
    const { port } = new URL(named.adminUrl);
    const asked = async (name: string) =>
      (await ask(Number(port), `GET /metrics HTTP/1.1\r\nHost: ${name}:${port}\r\n\r\n`))?.status;
    expect([await asked("metrics.internal"), await asked("other.internal")]).toEqual([200, 421]);
  });

  test(`one key switches the dashboard of ${host} off`, async () => {
    await using off = await startServer({ host, config: { dashboard: { enabled: false } } });
    expect((await fetch(`${off.adminUrl}/`)).status).toBe(404);
    expect(off.output()).toContain(`metrics and health on ${off.adminUrl}/`);
    expect(off.output()).not.toContain("dashboard");
  });
}
