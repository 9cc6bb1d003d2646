import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { classes, placeOf } from "../../plugins/admission/classes.ts";
import { hinted } from "../../plugins/admission/hints.ts";
import { type Asked, keyOf, keySource } from "../../plugins/admission/key_source.ts";
import { classifier, type Rule } from "../../plugins/admission/rules.ts";

const asked = (change: Partial<Record<"path" | "host" | "method" | "address", string>> = {}, headers = {}): Asked => ({
  path: change.path ?? "/",
  host: change.host ?? "shop.example",
  method: change.method ?? "GET",
  headers: new Headers(headers),
  client: { address: change.address ?? "203.0.113.7", port: 4711 },
});

const none = { kind: "none" } as const;
const matched = (rule: Rule, x: Asked) =>
  classifier({ rules: [{ ...rule, weight: 9 }], key: none, hints: false })(x).weight === 9;

describe("rules", () => {
  test("match by path, host, method and header, all that they name", () => {
    expect(matched({ path: ["/api/**"] }, asked({ path: "/api/a/b" }))).toBe(true);
    expect(matched({ path: ["/api/*", "/x"] }, asked({ path: "/api/a/b" }))).toBe(false);
    expect(matched({ path: ["/api/*", "/x"] }, asked({ path: "/x" }))).toBe(true);
    expect(matched({ host: ["*.Example.org"] }, asked({ host: "a.b.EXAMPLE.org:8080" }))).toBe(true);
    expect(matched({ host: ["*.example.org"] }, asked({ host: "a.example.org.:80" }))).toBe(true);
    expect(matched({ host: ["*.example.org"] }, asked({ host: "example.org" }))).toBe(false);
    expect(matched({ method: ["post"] }, asked({ method: "POST" }))).toBe(true);
    expect(matched({ method: ["POST"] }, asked())).toBe(false);
    expect(matched({ header: ["X-Tier"] }, asked({}, { "x-tier": "" }))).toBe(true);
    expect(matched({ header: ["X-Tier"] }, asked())).toBe(false);
    expect(matched({ header: ["X-Tier: gold"] }, asked({}, { "x-tier": "gold" }))).toBe(true);
    expect(matched({ header: ["X-Tier: gold"] }, asked({}, { "x-tier": "golden" }))).toBe(false);
    expect(matched({ header: ["User-Agent: *bot(*"] }, asked({}, { "user-agent": "a bot(x)" }))).toBe(true);
    expect(matched({ header: ["X-A", "X-B"] }, asked({}, { "x-a": "1" }))).toBe(false);
    const all: Rule = { path: ["/a"], host: ["h"], method: ["GET"], header: ["x-a: 1"] };
    expect(matched(all, asked({ path: "/a", host: "h" }, { "x-a": "1" }))).toBe(true);
    expect(matched(all, asked({ path: "/a", host: "h", method: "POST" }, { "x-a": "1" }))).toBe(false);
    expect(matched({}, asked())).toBe(true);
  });

  test("the first that matches counts, and says only what it says", () => {
    const classify = classifier({
      rules: [
        { path: ["/health"], exempt: true },
        { path: ["/api/**"], class: "critical_plus", key: { kind: "header", name: "x-tenant" } },
        { path: ["/api/reports"], weight: 3 },
        { path: ["/reports"], weight: 3 },
      ],
      key: { kind: "client" },
      hints: false,
    });
    expect(classify(asked({ path: "/health" })).exempt).toBe(true);
    expect(classify(asked({ path: "/api/reports" }, { "x-tenant": "t" }))).toEqual({
      criticality: "critical_plus",
      key: "h:t",
      weight: 1,
      exempt: false,
    });
    expect(classify(asked({ path: "/reports" }))).toEqual({
      criticality: "critical",
      key: "a:203.0.113.7",
      weight: 3,
      exempt: false,
    });
    expect(classify(asked()).criticality).toBe("critical");
  });
});

describe("keys", () => {
  const key = (source: string, x: Asked, route?: number) => keyOf(keySource(source)!, x, route);

  test("are read from the configuration's words, and from nothing else", () => {
    expect(keySource("header:X-Tenant")).toEqual({ kind: "header", name: "x-tenant" });
    expect(keySource("cookie:PHPSESSID")).toEqual({ kind: "cookie", name: "PHPSESSID" });
    for (const bad of ["", "Client", "header:", "header:a b", "header: a", "cookie:a=b", "cookie:a;b", "client:x"]) {
      expect([bad, keySource(bad)]).toEqual([bad, undefined]);
    }
  });

  test("are the client's address, of IPv6 its /64", () => {
    const of = (address: string) => key("client", asked({ address }));
    expect(of("203.0.113.7")).toBe("a:203.0.113.7");
    expect(of("2001:db8:1:2:3:4:5:6")).toBe("a:2001:db8:1:2::/64");
    expect(of("2001:DB8:01:2::9")).toBe("a:2001:db8:1:2::/64");
    expect(of("2001:db8::1")).toBe("a:2001:db8:0:0::/64");
    expect(of("::1")).toBe("a:0:0:0:0::/64");
    expect(of("::")).toBe("a:0:0:0:0::/64");
    expect(of("fe80::1%eth0")).toBe("a:fe80:0:0:0::/64");
    expect(of("1:2:3:4:5:6:7::")).toBe("a:1:2:3:4::/64");
    expect(of("64:ff9b::192.0.2.1")).toBe("a:64:ff9b:0:0::/64");
    expect(of("")).toBe("a:");
  });

  test("are hosts, routes, headers and cookies, and never one for another", () => {
    expect(key("host", asked({ host: "Shop.Example:8080" }))).toBe("v:shop.example");
    expect(key("host", asked({ host: "shop.example." }))).toBe("v:shop.example");
    expect(key("route", asked({ path: "/blog/2026" }))).toBe("p:/blog");
    expect(key("route", asked({ path: "/blog/2026" }), 2)).toBe("r:2");
    expect(key("header:X-T", asked({}, { "x-t": "203.0.113.7" }))).toBe("h:203.0.113.7");
    expect(key("header:x-t", asked())).toBe(undefined);
    expect(key("header:x-t", asked({}, { "x-t": "" }))).toBe(undefined);
    expect(key("cookie:a", asked({}, { cookie: "aa=1; a=2; a=3" }))).toBe("c:2");
    expect(key("cookie:a", asked({}, { cookie: "b=a" }))).toBe(undefined);
    expect(key("none", asked())).toBe(undefined);
    expect(key("cookie:a", asked({}, { cookie: `a=${"x".repeat(5000)}` }))!.length).toBe(200);
  });
});

describe("hints of the client", () => {
  const from = (headers: Record<string, string>, own: "critical" | "sheddable" = "critical") =>
    hinted(new Headers(headers), own);

  test("are the urgency of RFC 9218 and the purpose of a prefetch", () => {
    expect(from({})).toBe("critical");
    expect(from({ priority: "u=0" })).toBe("critical");
    expect(from({ priority: "u=4, i" })).toBe("critical");
    expect(from({ priority: "i, u=5" })).toBe("sheddable_plus");
    expect(from({ priority: "u=6" })).toBe("sheddable_plus");
    expect(from({ priority: "u=7;x, i" })).toBe("sheddable");
    expect(from({ priority: "u=7, u=1" })).toBe("critical");
    expect(from({ "sec-purpose": "prefetch" })).toBe("sheddable");
    expect(from({ "sec-purpose": "prefetch;prerender" })).toBe("sheddable");
    for (const bad of ["u=8", "u=77", "U=7", "u=7x", "xu=7", "u =7", "7", ""]) {
      expect([bad, from({ priority: bad })]).toEqual([bad, "critical"]);
    }
    expect(from({ "sec-purpose": "prefetcher" })).toBe("critical");
  });

  test("never raise", () => {
    const texts = fc.oneof(fc.constantFrom(..."01234567").map((u) => `u=${u}`), fc.string({ unit: "grapheme-ascii" }));
    fc.assert(fc.property(fc.constantFrom(...classes), texts, texts, (own, priority, purpose) => {
      const headers = { get: (name: string) => name === "priority" ? priority : purpose };
      expect(placeOf(hinted(headers, own))).toBeGreaterThanOrEqual(placeOf(own));
    }));
  });
});
