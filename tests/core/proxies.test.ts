import { describe, expect, test } from "bun:test";
import { hostName, validHost } from "../../core/http/host.ts";
import { type ProxyHeader, TrustedProxies } from "../../core/http/proxies.ts";

const read = (
  rules: readonly string[],
  peer: string,
  headers: Record<string, string>,
  believed?: readonly ProxyHeader[],
) => new TrustedProxies(rules, believed).read(peer, new Headers(headers));

describe("trusted proxies", () => {
  test("an untrusted peer is believed nothing", () => {
    expect(read(["10.0.0.0/8"], "9.9.9.9", { "x-forwarded-for": "1.1.1.1" })).toBe(undefined);
    expect(read([], "10.0.0.1", { "x-forwarded-for": "1.1.1.1" })).toBe(undefined);
  });

  test("the client is the right-most hop that is not trusted", () => {
    const forwarded = read(["10.0.0.0/8"], "10.0.0.1", { "x-forwarded-for": "1.1.1.1, 9.9.9.9, 10.1.2.3" });
    expect(forwarded?.address).toBe("9.9.9.9");
  });

  test("when every hop is trusted the left-most one is the client", () => {
    expect(read(["10.0.0.0/8"], "10.0.0.1", { "x-forwarded-for": "10.9.9.9, 10.1.2.3" })?.address).toBe("10.9.9.9");
  });

  test("a hop that is no address ends the search: nothing left of it is believed", () => {
    expect(read(["10.0.0.0/8"], "10.0.0.1", { "x-forwarded-for": "1.1.1.1, unknown" })?.address).toBe("");
  });

  test("IPv4 in IPv6 clothes, IPv6 with a port and unix sockets", () => {
    expect(read(["127.0.0.1"], "::ffff:127.0.0.1", { "x-forwarded-for": "::ffff:8.8.8.8" })?.address).toBe("8.8.8.8");
    const v6 = read(["::1"], "::1", { "x-forwarded-for": "[2001:db8::7]:4711" });
    expect([v6?.address, v6?.port]).toEqual(["2001:db8::7", 4711]);
    expect(read(["unix"], "", { "x-forwarded-for": "8.8.8.8" })?.address).toBe("8.8.8.8");
    expect(read(["127.0.0.1"], "", { "x-forwarded-for": "8.8.8.8" })).toBe(undefined);
  });

  test("scheme and host come from the nearest proxy", () => {
    const f = read(["::1"], "::1", {
      "x-forwarded-for": "8.8.8.8",
      "x-forwarded-proto": "gopher, https",
      "x-forwarded-host": "evil.example, shop.example",
    }, ["x-forwarded-for", "x-forwarded-proto", "x-forwarded-host"]);
    expect([f?.scheme, f?.host]).toEqual(["https", "shop.example"]);
  });

  test("Forwarded is parsed with its quotes (RFC 7239)", () => {
    const f = read(["127.0.0.1"], "127.0.0.1", {
      forwarded:
        'for=1.1.1.1;proto=http, For="[2001:db8:cafe::17]:4711";proto=https;host="a,b.example;x", for=127.0.0.1;proto=https',
    });
    expect([f?.address, f?.port, f?.scheme]).toEqual(["2001:db8:cafe::17", 4711, "https"]);
  });

  test("a header that the proxy was not said to set is the client's own word", () => {
    const headers = {
      "x-forwarded-for": "8.8.8.8",
      "x-forwarded-proto": "https",
      "x-forwarded-host": "evil.example",
      "forwarded": "for=6.6.6.6;proto=http;host=other.example",
    };
    const seen = (...believed: ProxyHeader[]) => {
      const f = read(["::1"], "::1", headers, believed);
      return [f?.address, f?.scheme, f?.host];
    };
    expect(seen("x-forwarded-for")).toEqual(["8.8.8.8", undefined, undefined]);
    expect(seen("x-forwarded-proto")).toEqual(["", "https", undefined]);
    expect(seen("x-forwarded-host")).toEqual(["", undefined, "evil.example"]);
    expect(seen("forwarded")).toEqual(["6.6.6.6", "http", "other.example"]);
    expect(seen()).toEqual([undefined, undefined, undefined]);
  });

  test("by default X-Forwarded-Host is not believed, and Forwarded only where no X-Forwarded-* header is", () => {
    const both = read(["::1"], "::1", { "x-forwarded-proto": "https", "forwarded": "for=6.6.6.6;host=evil.example" });
    expect([both?.address, both?.scheme, both?.host]).toEqual(["", "https", undefined]);
    const host = read(["::1"], "::1", { "x-forwarded-for": "8.8.8.8", "x-forwarded-host": "evil.example" });
    expect([host?.address, host?.host]).toEqual(["8.8.8.8", undefined]);
  });

  test("a rule that is no range is refused with its text", () => {
    for (const rule of ["10.0.0.0/33", "ten", "10.0.0.1/8/9", "10.0.0.1/x"]) {
      expect(() => new TrustedProxies([rule])).toThrow(rule);
    }
  });
});

describe("host", () => {
  test("is one name or address with an optional port", () => {
    for (const good of ["a", "a.b:80", "[::1]", "[::1]:8080", "127.0.0.1", "a_b.example"]) {
      expect(validHost(good)).toBe(true);
    }
    for (const bad of ["", "a b", "a, b", "a/b", "a:b", "a:70000", "[::1", "u@h", "a\tb"]) {
      expect(validHost(bad)).toBe(false);
    }
  });

  test("is cut into name and port", () => {
    expect(["a", "a:80", "[::1]", "[::1]:9"].map(hostName)).toEqual(["a", "a", "[::1]", "[::1]"]);
  });
});
