import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CoreError } from "../../core/error.ts";
import type { Exchange } from "../../core/exchange.ts";
import type { Awaitable, Ordered, PluginHooks } from "../../core/plugin.ts";
import plugin from "../../plugins/site/plugin.ts";
import { type ExchangeInit, TestExchange } from "../support/exchange.ts";

let dir: string;

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "fairlead-site-"));
  writeFileSync(join(dir, "users"), "anna:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n");
});

afterAll(() => rmSync(dir, { recursive: true }));

function problems(config: Record<string, unknown>): string[] {
  const parsed = plugin.config["~standard"].validate(config);
  if (parsed instanceof Promise) throw new Error("expected an answer at once");
  return (parsed.issues ?? []).map(({ path, message }: { path?: readonly unknown[]; message: string }) =>
    `${path?.join(".")}: ${message}`
  );
}

function hooks(config: Record<string, unknown>): PluginHooks | undefined {
  const parsed = plugin.config["~standard"].validate(config);
  if (parsed instanceof Promise || parsed.issues) throw new Error(problems(config).join("\n"));
  return plugin.setup({ name: "site", config: parsed.value, baseDir: dir, log() {}, find: () => undefined } as never) as
    | PluginHooks
    | undefined;
}

type Handler = (x: Exchange, next: () => Awaitable<Response>) => Awaitable<Response>;

function site(config: Record<string, unknown>) {
  const { order, handler } = hooks(config)!.onRequest as Exclude<Ordered<Handler>, Handler>;
  expect(order).toBe("pre");
  return async (target: string, init: ExchangeInit = {}, next: Handler = () => new Response("inside")) => {
    const x = new TestExchange(target, init);
    const response = await handler(x, () => next(x, () => new Response()));
    return { x, status: response.status, headers: response.headers, text: await response.text() };
  };
}

const right = { authorization: `Basic ${btoa("anna:secret")}` };

test("without a table there is no hook", () => {
  expect(hooks({})).toBe(undefined);
  expect(hooks({ headers: [], redirects: [], access: [] })).toBe(undefined);
});

describe("the order", () => {
  const access = [{ match: "/", deny: ["10.0.0.1"], auth: { users_file: "users" } }];
  const redirects = [
    { from: "/**", host: ["secure.example"], scheme: "http", to: "https://$host$path" },
    { from: "/old", to: "/new" },
  ];

  test("is address, https, password, redirects, the rest", async () => {
    const ask = site({ access, redirects });
    const secure = { host: "secure.example" };
    const from = (address: string, headers = {}) => ({ peer: { address, port: 1 }, headers });
    expect((await ask("/old", from("10.0.0.1", { ...secure, ...right }))).status).toBe(403);
    expect((await ask("/old", from("10.0.0.2", secure))).headers.get("location")).toBe("https://secure.example/old");
    expect((await ask("/old", from("10.0.0.2"))).status).toBe(401);
    const known = await ask("/old", from("10.0.0.2", right));
    expect([known.status, known.headers.get("location"), known.x.handler]).toEqual([302, "/new", "site"]);
    expect((await ask("/new", from("10.0.0.2", right))).text).toBe("inside");
  });

  test("has headers around it all, and errors go on as they are", async () => {
    const ask = site({ access, redirects, headers: [{ set: { "X-A": "1" } }] });
    for (const headers of [{}, right, { host: "secure.example" }]) {
      expect((await ask("/old", { headers })).headers.get("x-a")).toBe("1");
    }
    const failure = new CoreError("X", "x", { status: 502 });
    const fails: readonly Handler[] = [
      () => {
        throw failure;
      },
      () => Promise.reject(failure),
    ];
    for (const next of fails) {
      let seen: Exchange | undefined;
      const asked = ask("/new", { headers: right }, (x) => next(seen = x, () => new Response()));
      await expect(asked).rejects.toBe(failure);
      expect(seen!.extra).toEqual([["x-a", "1"]]);
    }
  });
});

test("a client that has gone before its address was asked for is none of a unix socket", async () => {
  const gone = { peer: { address: "", port: 0 } };
  expect((await site({ access: [{ match: "/", allow: ["unix"] }] })("/", gone)).status).toBe(403);
  expect((await site({ access: [{ match: "/", deny: ["10.0.0.1"] }] })("/", gone)).status).toBe(403);
});

test("a password of one rule is good for another of the same file and realm, behind a script too", async () => {
  const staff = { users_file: "users" };
  const ask = site({ access: [{ match: "/admin", auth: staff }, { match: "/", auth: staff }] });
  expect((await ask("/index.php/admin", { headers: right })).status).toBe(200);
  expect((await ask("/index.php/admin")).status).toBe(401);
  const other = site({
    access: [{ match: "/admin", auth: { ...staff, realm: "Staff" } }, { match: "/", auth: staff }],
  });
  expect((await other("/index.php/admin", { headers: right })).status).toBe(403);
});

test("credentials stay with the request, or are hidden from who comes after", async () => {
  const seen = async (auth: object, more: object = {}) => {
    const { x, status } = await site({ access: [{ match: "/", auth: { users_file: "users", ...auth }, ...more }] })(
      "/",
      {
        headers: right,
      },
    );
    return [status, x.headers.has("authorization")];
  };
  expect(await seen({})).toEqual([200, true]);
  expect(await seen({ hide: true })).toEqual([200, false]);
  expect(await seen({ hide: true }, { allow: ["all"], satisfy: "any" })).toEqual([200, false]);
});

test("what cannot be meant is an error", () => {
  const users = { users_file: "users" };
  const cases: readonly [config: Record<string, unknown>, problem: RegExp][] = [
    [{ header: [] }, /header/],
    [{ headers: [{}] }, /headers\.0: expected set, default, add or remove/],
    [{ headers: [{ set: { "Content-Length": "1" } }] }, /headers\.0\.set\.Content-Length: is the server's own/],
    [{ headers: [{ set: { a: "b\n" } }] }, /headers\.0\.set\.a: must be a header value/],
    [{ headers: [{ remove: ["Connection"] }] }, /headers\.0\.remove\.0: is the server's own/],
    [{ headers: [{ set: { a: "b" }, match: "a" }] }, /headers\.0\.match: must start with \//],
    [{ redirects: [{ from: "/a", to: "//evil.example" }] }, /redirects\.0\.to: expected/],
    [{ redirects: [{ from: "/a", to: "/$1" }] }, /redirects\.0\.to: nothing is named \$1 here/],
    [{ redirects: [{ from: "/:a/:a", to: "/$a" }] }, /redirects\.0\.from: must not name two things a/],
    [{ redirects: [{ from: "/:path", to: "$path" }] }, /redirects\.0\.from: must not name two things path/],
    [{ redirects: [{ from: "/a%20b", to: "/c" }] }, /redirects\.0\.from: must be written decoded/],
    [{ redirects: [{ from: "/a//b", to: "/c" }] }, /redirects\.0\.from: is like no path/],
    [{ redirects: [{ from: "/a", to: "/b", status: 300 }] }, /redirects\.0\.status/],
    [
      { redirects: [{ from: "/a", to: "/b" }, { from: "/b", to: "/a" }] },
      /redirects\.0\.to: must come to an end, and leads \/a -> \/b -> \/a/,
    ],
    [{ access: [{ match: "/" }] }, /access\.0: expected allow, deny or auth/],
    [{ access: [{ match: "/./admin", deny: ["all"] }] }, /access\.0\.match: is like no path/],
    [{ access: [{ match: "/", allow: [] }] }, /access\.0\.allow/],
    [{ access: [{ match: "/", allow: ["10.0.0.0/33"] }] }, /access\.0\.allow\.0: expected an address/],
    [{ access: [{ match: "/", auth: users, satisfy: "any" }] }, /access\.0\.satisfy: expected auth, and allow or deny/],
    [{ access: [{ match: "/", auth: { ...users, realm: 'a"b' } }] }, /access\.0\.auth\.realm/],
    [{ access: [{ match: "/", auth: users, host: ["a:80"] }] }, /access\.0\.host\.0: must be a host without its port/],
  ];
  for (const [config, problem] of cases) expect(problems(config).join("\n")).toMatch(problem);
  expect(() => hooks({ access: [{ match: "/", auth: { users_file: "nobody" } }] })).toThrow("no such file");
});
