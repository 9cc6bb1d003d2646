import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { configure } from "../../cli/prepare.ts";
import { calledHost, validHost } from "../../core/http/host.ts";
import { VirtualHosts } from "../../core/http/virtual_hosts.ts";

const hosts = new VirtualHosts("public", {
  "Shop.Example": { public: "./shop", aliases: ["*.shop.example", "sale.shop.example", "shop.test"] },
  "blog.example": { public: "/srv/blog", aliases: ["*.blog.shop.example"] },
  "*.example": { public: "rest" },
  "[::1]": { public: "six" },
}, "/srv/app");
const [rest, shop, blog, wild, six] = hosts.all;
const nameOf = (host: string) => hosts.of(host).name;

describe("the site that answers for a host", () => {
  test("is that of its name, in any case, with a port or the dot of a whole name", () => {
    for (const host of ["shop.example", "SHOP.example:8080", "shop.example.", "Shop.Example.:1", "shop.test"]) {
      expect([host, hosts.of(host)]).toEqual([host, shop!]);
    }
    for (const host of ["[::1]", "[::1]:8080"]) expect([host, hosts.of(host)]).toEqual([host, six!]);
  });

  test("is that of the name before that of a wildcard, and of the longest wildcard", () => {
    expect(["sale.shop.example", "a.shop.example", "a.b.shop.example"].map(nameOf)).toEqual(
      Array(3).fill("shop.example"),
    );
    expect(["a.blog.shop.example", "a.b.blog.shop.example"].map(nameOf)).toEqual(["blog.example", "blog.example"]);
    // A wildcard is not the name that it is below.
    expect(["blog.shop.example", "a.example", "other.example", "shop.example"].map(nameOf))
      .toEqual(["shop.example", "*.example", "*.example", "shop.example"]);
    expect(hosts.of("blog.example")).toBe(blog!);
    expect(hosts.of("x.blog.example")).toBe(wild!);
  });

  test("is the first for whatever no entry names", () => {
    const others = [
      "",
      "example",
      ".example.test",
      "shop.example.test",
      "shopxexample",
      "127.0.0.1:80",
    ];
    expect(others.filter((host) => hosts.of(host) !== rest)).toEqual([]);
    expect(["shop.example..", "*.shop.example.x", "[::2]", "::1", "constructor", "__proto__"].map(nameOf)).toEqual(
      Array(6).fill(""),
    );
  });

  test("has a public root of its own, from the folder of the configuration", () => {
    expect(hosts.all.map(({ publicRoot }) => publicRoot)).toEqual([
      "/srv/app/public",
      "/srv/app/shop",
      "/srv/blog",
      "/srv/app/rest",
      "/srv/app/six",
    ]);
    expect(hosts.all.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4]);
    expect(shop!.key).toBe('server.hosts."Shop.Example".public');
    expect(new VirtualHosts(undefined, {}, "/").of("shop.example").publicRoot).toBe(undefined);
  });

  test("is the same by the rules as they are told: the name, else the longest wildcard, else the first", () => {
    const label = fc.constantFrom("a", "b", "c", "A", "x-1", "_d");
    const name = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join("."));
    const entry = fc.tuple(fc.boolean(), name).map(([wide, text]) => wide ? `*.${text}` : text);
    const asked = fc.tuple(name, fc.constantFrom("", ".", ":80", ".:8080"));
    fc.assert(fc.property(fc.array(entry, { maxLength: 12 }), asked, (names, [host, end]) => {
      const once = [...new Map(names.map((text) => [text.toLowerCase(), text])).values()];
      const sites = new VirtualHosts("d", Object.fromEntries(once.map((text) => [text, { public: text }])), "/");
      expect(validHost(host + end)).toBe(true);
      const called = calledHost(host + end);
      const fits = once.map((text) => text.toLowerCase())
        .filter((text) => text === called || (text.startsWith("*.") && called.endsWith(text.slice(1))))
        .sort((one, other) => Number(other === called) - Number(one === called) || other.length - one.length);
      expect(sites.of(host + end).name).toBe(fits[0] ?? "");
    }));
  });
});

describe("server.hosts", () => {
  const problems = async (server: Record<string, unknown>) => {
    const error = await configure({ server }).catch((e) => e);
    return (error as Error).message.split("\n").slice(1).map((line) => line.trim());
  };
  const shop = { public: "./shop" };

  test("may say what it needs to", async () => {
    const { server } = await configure({
      server: {
        tls: { cert: "c", key: "k" },
        hosts: { "Shop.example": { ...shop, aliases: ["*.shop.example", "[::1]"], tls: { cert: "d", key: "l" } } },
      },
    });
    expect(server.hosts?.["Shop.example"]?.aliases).toEqual(["*.shop.example", "[::1]"]);
  });

  test("is refused where a name is none, or is named twice", async () => {
    const bad = [
      "",
      "*",
      "*.",
      "*shop.example",
      "www.*",
      "a..b",
      "shop.example:80",
      "shop.example.",
      "a/b",
      "ä.example",
      "http://a",
    ];
    for (const name of bad) {
      const rule =
        'expected a host without a port or a dot at its end, such as "shop.example", "*.shop.example" or "[::1]"';
      const [key] = await problems({ hosts: { [name]: shop } });
      expect([name, key]).toEqual([name, expect.stringContaining(rule)]);
      const [alias] = await problems({ hosts: { "shop.example": { ...shop, aliases: ["a.example", name] } } });
      expect(alias).toContain(`server.hosts."shop.example".aliases[1]: ${rule}`);
    }
    const twice = { "shop.example": { ...shop, aliases: ["a.example", "SHOP.example"] } };
    expect(
      await problems({
        hosts: { ...twice, "Blog.example": { ...shop, aliases: ["A.example"] }, "blog.example": shop },
      }),
    )
      .toEqual([
        expect.stringContaining(
          'server.hosts."blog.example": expected a name that is named once; server.hosts."Blog.example"',
        ),
        expect.stringContaining(
          'aliases[1]: expected a name that is named once; server.hosts."shop.example" has it already',
        ),
        expect.stringContaining(
          '"Blog.example".aliases[0]: expected a name that is named once; server.hosts."shop.example"',
        ),
      ]);
  });

  test("is refused without a folder, with an unknown key, and with a certificate where there is no other", async () => {
    expect(await problems({ hosts: { "a.example": {} } })).toEqual([
      'server.hosts."a.example".public: missing; expected a string',
    ]);
    expect(await problems({ hosts: { "a.example": { ...shop, root: "x" } } })).toEqual([
      expect.stringContaining('server.hosts."a.example".root: unknown key'),
    ]);
    expect(await problems({ hosts: { "a.example": { ...shop, tls: { cert: "c", key: "k" } } } })).toEqual([
      expect.stringContaining('server.hosts."a.example".tls: expected server.tls too'),
    ]);
  });
});
