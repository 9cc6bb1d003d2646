import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import process from "node:process";
import { ClosedPaths } from "../../core/contracts/closed_paths.ts";
import { Site } from "../../core/contracts/site.ts";
import type { Exchange } from "../../core/exchange.ts";
import { VirtualHosts } from "../../core/http/virtual_hosts.ts";
import type { Context, PluginHooks, Token } from "../../core/plugin.ts";
import plugin from "../../plugins/static/plugin.ts";
import { waitFor } from "../support/wait.ts";
import { type Tree, tree } from "./support.ts";

let site: Tree;
const logged: string[] = [];
const provided = new Map<string, unknown>();

beforeAll(() => {
  site = tree();
  site.write("public/a.txt", "hello");
  site.write("public/big.bin", new Uint8Array(300_000));
  site.write("storage/pic.txt", "picture");
  site.link("public/storage", "../storage");
  site.write("public/data/.htaccess", "Require all denied\n");
  site.write("public/data/a.txt", "private");
  site.write("public/data/run.php", "<?php");
  site.write("public/data/deeper/.htaccess", "Deny from all");
  site.write("public/app/lib/.htaccess", "<IfModule mod_authz_core.c>\r\n  Require all denied\r\n</IfModule>");
  site.write("public/app/.htaccess", '<Files "*.ini">\nRequire all denied\n</Files>\nRewriteEngine On\n');
  site.write("public/database/a.txt", "open");
  site.write("public/sub/data/a.txt", "open");
  site.write("public/sub/x.log", "a log");
  site.link("public/renamed", "data");
});

afterAll(() => site.remove());

function hooks(config: Record<string, unknown>, hosts: Record<string, { public: string }> = {}): PluginHooks {
  const parsed = plugin.config["~standard"].validate(config);
  if (parsed instanceof Promise || parsed.issues) throw new Error("The configuration is not valid");
  const ctx: Partial<Context<unknown, Token<unknown>, never, never>> = {
    name: "static",
    config: parsed.value,
    baseDir: site.base,
    log: (level, message) => void logged.push(`${level} ${message}`),
    use: () => ({ virtualHosts: new VirtualHosts(site.root, hosts, site.base).all }) as never,
    provide: (token, service) => void provided.set((token as Token<unknown>).id, service),
  };
  return (plugin.setup(ctx as never) ?? {}) as PluginHooks;
}

function exchange(path: string): Exchange {
  const x: Partial<Exchange> = {
    method: "GET",
    path,
    query: "",
    headers: new Headers(),
    handler: "",
    bytes: -1,
    sent: undefined,
    onGone: () => () => {},
  };
  return x as Exchange;
}

const next = () => new Response("next");
const run = (given: PluginHooks, x: Exchange) =>
  (given.onRequest as
    & NonNullable<PluginHooks["onRequest"]>
    & ((
      x: Exchange,
      next: () => Response,
    ) => Response))(x, next);

describe("the plugin", () => {
  test("needs the site, and is called static", () => {
    expect([plugin.name, plugin.api, plugin.needs]).toEqual(["static", 1, [Site]]);
  });

  test("answers for files and says so, without a promise", async () => {
    const x = exchange("/a.txt");
    const response = run(hooks({}), x);
    expect(response).toBeInstanceOf(Response);
    expect(await response.text()).toBe("hello");
    expect([x.handler, x.bytes, x.sent]).toEqual(["static", 5, undefined]);
  });

  test("passes on what is not a file, just as it came", async () => {
    const given = hooks({});
    for (const path of ["/index.php", "/2024/05/a-permalink/", "/nothing", "/"]) {
      const x = exchange(path);
      expect(await run(given, x).text()).toBe("next");
      expect([x.handler, x.bytes]).toEqual(["", -1]);
    }
  });

  test("tells how a streamed body fares, and closes one that was never read", async () => {
    const given = hooks({});
    const x = exchange("/big.bin");
    const response = run(given, x);
    expect(x.bytes).toBe(0);
    expect((await response.arrayBuffer()).byteLength).toBe(300_000);
    await x.sent;
    expect(x.bytes).toBe(300_000);
  });

  test("counts the bytes of every other answer", () => {
    const given = hooks({});
    const bytes = (path: string, method: string, headers: Record<string, string> = {}) => {
      const x = { ...exchange(path), method, headers: new Headers(headers) };
      const { status } = run(given, x);
      return [status, x.bytes];
    };
    expect(bytes("/.env", "GET")).toEqual([404, 10]);
    expect(bytes("/a.txt", "HEAD")).toEqual([200, 0]);
    expect(bytes("/a.txt", "OPTIONS")).toEqual([204, 0]);
    expect(bytes("/a.txt", "GET", { "if-none-match": "*" })).toEqual([304, 0]);
    expect(bytes("/big.bin", "HEAD")).toEqual([200, 0]);
  });

  test("has nothing to do without a public root", () => {
    const virtualHosts = new VirtualHosts(undefined, {}, "/").all;
    const ctx = { use: () => ({ virtualHosts }), provide: () => {}, config: { deny: [], hosts: {} } };
    expect(plugin.setup(ctx as never)).toBe(undefined);
  });

  test("follows links out only where told, and says where that was once", async () => {
    const refusing = hooks({});
    for (let i = 0; i < 3; i++) expect(await run(refusing, exchange("/storage/pic.txt")).text()).toBe("next");
    expect(logged.filter((line) => line.includes(`${site.base}/storage`))).toHaveLength(1);
    expect(await run(hooks({ follow: ["storage"] }), exchange("/storage/pic.txt")).text()).toBe("picture");
  });

  test("tells others which paths nobody gets", () => {
    hooks({ deny: ["/data/**", "/*.log"] });
    const closed = provided.get(ClosedPaths.id) as ClosedPaths;
    const [host] = new VirtualHosts(site.root, {}, "/").all;
    expect(["/data", "/data/x", "/x.log", "/sub/x.log", "/"].map((path) => closed.has(path, host)))
      .toEqual([true, true, true, false, false]);
  });

  test("denies paths whoever would have answered, and what a link gives another name", async () => {
    const given = hooks({ deny: ["/data/**", "/*.log"] });
    for (const path of ["/data", "/data/", "/data/a.txt", "/data/run.php", "/data/none", "/x.log"]) {
      const x = exchange(path);
      const response = run(given, x);
      expect([path, response.status, await response.text(), x.handler]).toEqual([path, 403, "Forbidden\n", "static"]);
    }
    expect(await run(given, exchange("/renamed/a.txt")).text()).toBe("next");
    for (const path of ["/database/a.txt", "/sub/data/a.txt"]) {
      expect(await run(given, exchange(path)).text()).toBe("open");
    }
    expect(await run(given, exchange("/sub/x.log")).text()).toBe("a log");
    expect(run(given, exchange("/data/.htaccess")).status).toBe(404);
    expect(await run(hooks({}), exchange("/data/a.txt")).text()).toBe("private");
    // A folder elsewhere is known by the link's name, wherever things are in it.
    const following = hooks({ follow: ["storage"], deny: ["/pic.txt"] });
    expect(await run(following, exchange("/storage/pic.txt")).text()).toBe("picture");
    expect(run(hooks({ follow: ["storage"], deny: ["/storage/*.txt"] }), exchange("/storage/pic.txt")).status).toBe(
      403,
    );
  });

  test("says which folders only Apache would have kept to itself", async () => {
    const warnings = () => logged.filter((line) => line.includes(".htaccess"));
    const listen = (given: PluginHooks) => (given.onListen as () => void)();
    listen(hooks({}));
    await waitFor(() => warnings().length > 0, { what: "the warning" });
    expect(warnings()).toEqual([
      "warn Open to everybody: folders whose .htaccess denies all, which only Apache reads; close them by " +
      'static.deny = ["/data/**", "/app/lib/**"]',
    ]);
    listen(hooks({ deny: ["/data/**"] }));
    await waitFor(() => warnings().length > 1, { what: "the second warning" });
    expect(warnings()[1]).toContain('static.deny = ["/app/lib/**"]');
  });

  test("sends what the application names, and nothing of it by its own address", async () => {
    const given = hooks({ internal: { "/private/": "storage" } });
    const named = (x: Exchange, later: boolean) => {
      const headers = { "x-accel-redirect": "/private/pic.txt", "x-served-by": "me", "content-type": "image/x" };
      const answer = new Response("not sent", { headers });
      return (given.onRequest as (x: Exchange, next: () => unknown) => Response | Promise<Response>)(
        x,
        () => later ? Promise.resolve(answer) : answer,
      );
    };
    for (const later of [false, true]) {
      const x: Exchange = { ...exchange("/download"), extra: [["X-Served-By", "me"]], handler: "php", bytes: 8 };
      const response = await named(x, later);
      expect([await response.text(), response.headers.get("content-type"), response.headers.has("x-served-by")])
        .toEqual(["picture", "image/x", false]);
      expect([x.handler, x.bytes]).toEqual(["php", 7]);
    }
    expect(run(given, exchange("/private/pic.txt")).status).toBe(404);
    const x = exchange("/other");
    expect([await run(given, x).text(), x.bytes]).toEqual(["next", -1]);
  });

  test("looks at the end of a streamed body in whose place a file goes out", async () => {
    const given = hooks({ internal: { "/private/": "storage" } });
    const unseen: unknown[] = [];
    const see = (reason: unknown) => void unseen.push(reason);
    process.on("unhandledRejection", see);
    try {
      const { promise, reject } = Promise.withResolvers<void>();
      const body = new ReadableStream({ cancel: () => reject(new Error("cancelled")) });
      const x: Exchange = { ...exchange("/download"), extra: [], sent: promise.finally(() => {}) };
      const answer = new Response(body, { headers: { "x-accel-redirect": "/private/pic.txt" } });
      const onRequest = given.onRequest as (x: Exchange, next: () => Response) => Response;
      expect(await onRequest(x, () => answer).text()).toBe("picture");
      await new Promise((resolve) => setTimeout(resolve));
      expect(unseen).toEqual([]);
    } finally {
      process.off("unhandledRejection", see);
    }
  });

  test("refuses a configuration that cannot be meant", () => {
    const wrong = [
      { unknown: 1 },
      { index: ["a/b.html"] },
      { index: [".htaccess"] },
      { index: [""] },
      { cache: [{ match: "build/**", value: "x" }] },
      { cache: [{ match: "/", value: "a\r\nb: c" }] },
      { cache: [{ match: "/", value: "" }] },
      { precompressed: "yes" },
      { follow: [""] },
      { deny: ["data/**"] },
      { internal: { "/": "x" } },
      { internal: { "/private": "x" } },
      { internal: { "/private/": "" } },
    ];
    for (const config of wrong) expect([config, () => hooks(config)][1]).toThrow("not valid");
  });
});
