/** Several sites in one server: what is sent to each. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { ClosedPaths } from "../../core/contracts/closed_paths.ts";
import { VirtualHosts } from "../../core/http/virtual_hosts.ts";
import type { Context, PluginHooks, Token } from "../../core/plugin.ts";
import plugin from "../../plugins/static/plugin.ts";
import { TestExchange } from "../support/exchange.ts";
import { waitFor } from "../support/wait.ts";
import { type Tree, tree } from "./support.ts";

let site: Tree;
const logged: string[] = [];
const provided = new Map<string, unknown>();

beforeAll(() => {
  site = tree();
  site.write("public/a.txt", "of all others");
  site.write("shop/public/a.txt", "of the shop");
  site.write("shop/public/shop.txt", "only the shop's");
  site.write("shop/public/home.html", "home");
  site.write("shop/public/data/.htaccess", "Require all denied");
  site.write("shop/public/data/x.txt", "data");
  site.write("shop/storage/s.txt", "the shop's storage");
  site.write("blog/a.txt", "of the blog");
  site.write("blog/data/x.txt", "open here");
  site.link("blog/shop", "../shop/public");
  site.link("blog/storage", "../shop/storage");
  site.link("shop/public/storage", "../storage");
  site.write("storage/d.txt", "the others' storage");
  site.link("public/storage", "../storage");
});
afterAll(() => site.remove());

const entries = {
  "shop.example": { public: "shop/public", aliases: ["www.shop.example"] },
  "blog.example": { public: "blog" },
};

function start(
  config: Record<string, unknown>,
  publicRoot?: string,
  hosts: Record<string, { public: string }> = entries,
) {
  const parsed = plugin.config["~standard"].validate(config);
  if (parsed instanceof Promise || parsed.issues) throw new Error("The configuration is not valid");
  const virtualHosts = new VirtualHosts(publicRoot, hosts, site.base);
  logged.length = 0;
  const ctx: Partial<Context<unknown, Token<unknown>, never, never>> = {
    name: "static",
    config: parsed.value,
    baseDir: site.base,
    log: (level, message) => void logged.push(`${level} ${message}`),
    use: () => ({ virtualHosts: virtualHosts.all }) as never,
    provide: (token, service) => void provided.set((token as Token<unknown>).id, service),
  };
  const hooks = (plugin.setup(ctx as never) ?? {}) as PluginHooks;
  const ask = async (host: string, path: string, answer = new Response("next")): Promise<string> => {
    const x = new TestExchange(path, { headers: { host }, intake: { virtualHosts } });
    const run = hooks.onRequest as (x: TestExchange, next: () => Response) => Response;
    const response = run(x, () => answer);
    return response.status === 200 ? await response.text() : String(response.status);
  };
  return { hooks, ask, virtualHosts };
}

describe("the files of several sites", () => {
  test("are those of the host that is asked, whoever was asked before", async () => {
    const { ask } = start({}, "public");
    for (let round = 0; round < 2; round++) {
      expect(await ask("shop.example", "/a.txt")).toBe("of the shop");
      expect(await ask("blog.example:81", "/a.txt")).toBe("of the blog");
      expect(await ask("WWW.shop.example.", "/a.txt")).toBe("of the shop");
      expect(await ask("other.example", "/a.txt")).toBe("of all others");
      expect(await ask("shop.example", "/shop.txt")).toBe("only the shop's");
      for (const host of ["blog.example", "other.example"]) expect(await ask(host, "/shop.txt")).toBe("next");
    }
  });

  test("are not sent to hosts that no entry names where there is no server.public", async () => {
    const { ask } = start({});
    expect(await ask("other.example", "/a.txt")).toBe("next");
    expect(await ask("shop.example", "/a.txt")).toBe("of the shop");
  });

  test("are not reached by links from other sites", async () => {
    const { ask } = start({ follow: ["shop/storage", "storage"] }, "public");
    for (const path of ["/shop/shop.txt", "/shop/a.txt", "/storage/s.txt"]) {
      expect([path, await ask("blog.example", path)]).toEqual([path, "next"]);
    }
    expect(logged.some((line) => line.includes('name it in static.hosts."blog.example".follow'))).toBe(true);
    // What [static] lets links lead into is for server.public alone.
    expect(await ask("shop.example", "/storage/s.txt")).toBe("next");
    expect(await ask("other.example", "/storage/d.txt")).toBe("the others' storage");
    const own = start({ hosts: { "Shop.example": { follow: ["shop/storage"] } } }, "public");
    expect(await own.ask("shop.example", "/storage/s.txt")).toBe("the shop's storage");
    expect(await own.ask("other.example", "/storage/d.txt")).toBe("next");
  });

  test("have the rules of all, and their own", async () => {
    const { ask, virtualHosts } = start({
      deny: ["/a.txt"],
      cache: [{ match: "/**", value: "no-cache" }],
      hosts: {
        "shop.example": {
          deny: ["/data/**"],
          index: ["home.html"],
          cache: [{ match: "/shop.txt", value: "max-age=9" }],
        },
      },
    }, "public");
    for (const host of ["shop.example", "blog.example", "other.example"]) expect(await ask(host, "/a.txt")).toBe("403");
    expect(await ask("shop.example", "/data/x.txt")).toBe("403");
    expect(await ask("blog.example", "/data/x.txt")).toBe("open here");
    expect(await ask("shop.example", "/")).toBe("home");
    const closed = provided.get(ClosedPaths.id) as ClosedPaths;
    expect(virtualHosts.all.map((host) => [closed.has("/a.txt", host), closed.has("/data/x", host)]))
      .toEqual([[true, false], [true, true], [true, false]]);
  });

  test("that an application may send are its own", async () => {
    const { ask } = start(
      { internal: { "/private/": "storage" }, hosts: { "shop.example": { internal: { "/kept/": "shop/storage" } } } },
      "public",
    );
    const named = (headers: Record<string, string>) => new Response("page", { headers });
    const byPath = (path: string) => named({ "x-accel-redirect": path });
    const byFolder = () => named({ "x-sendfile": `${site.base}/shop/storage/s.txt` });
    expect(await ask("shop.example", "/", byPath("/kept/s.txt"))).toBe("the shop's storage");
    expect(await ask("shop.example", "/", byFolder())).toBe("the shop's storage");
    expect(await ask("shop.example", "/", byPath("/private/d.txt"))).toBe("404");
    expect(await ask("other.example", "/", byPath("/kept/s.txt"))).toBe("404");
    expect(await ask("other.example", "/", byFolder())).toBe("404");
    expect(await ask("other.example", "/", byPath("/private/d.txt"))).toBe("the others' storage");
    // The blog has none, so the headers mean nothing.
    for (const answer of [byPath("/kept/s.txt"), byPath("/private/d.txt"), byFolder()]) {
      expect(await ask("blog.example", "/", answer)).toBe("page");
    }
    expect(await ask("shop.example", "/kept/s.txt")).toBe("404");
    expect(await ask("shop.example", "/private/d.txt")).toBe("next");
  });

  test("are looked over at the start, each by the table to change", async () => {
    const { hooks } = start({}, "public");
    (hooks.onListen as () => void)();
    await waitFor(() => logged.length > 0, { what: "the warning" });
    expect(logged).toEqual([expect.stringContaining('static.hosts."shop.example".deny = ["/data/**"]')]);
  });

  test("that lie in another site's folder are told of, unless nobody gets them there", () => {
    const warnings = (config: Record<string, unknown>) => {
      const { hooks } = start(config, ".", {
        "shop.example": { public: "shop/public" },
        "twin.example": { public: "." },
      });
      (hooks.onListen as () => void)();
      return logged.filter((line) => line.includes("within"));
    };
    expect(warnings({})).toEqual([
      'warn server.hosts."shop.example".public is within server.public, whose hosts serve its files, too; move it, or close it ' +
      'there by static.deny = ["/shop/public/**"]',
      'warn server.hosts."shop.example".public is within server.hosts."twin.example".public, whose hosts serve its files, too; ' +
      'move it, or close it there by static.hosts."twin.example".deny = ["/shop/public/**"]',
    ]);
    expect(warnings({ deny: ["/shop/**"] })).toEqual([]);
    expect(warnings({ hosts: { "twin.example": { deny: ["/shop/public/**"] } } })).toHaveLength(1);
  });

  test("have no settings without an entry in server.hosts", () => {
    expect(() => start({ hosts: { "sop.example": {} } })).toThrow(
      'static.hosts."sop.example": expected a key of server.hosts, of which there are: "shop.example", "blog.example"',
    );
    expect(() => start({ hosts: { "shop.example": {}, "Shop.example": {} } })).toThrow("not valid");
    expect(() => start({ hosts: { "shop.example": { precompressed: false } } })).toThrow("not valid");
  });
});
