import { describe, expect, test } from "bun:test";
import { adminGuard } from "../../core/admin_guard.ts";
import { parseAddress } from "../../core/http/address.ts";
import { TestExchange } from "../support/exchange.ts";

/** What a request with this `Host` gets: 0 when it passes. */
async function statuses(listen: string, hosts: readonly string[], asked: readonly string[]): Promise<number[]> {
  const guard = await adminGuard(parseAddress(listen), hosts);
  return asked.map((host) => guard(new TestExchange("/metrics", { headers: { host } }))?.status ?? 0);
}

const known = [
  ...["127.0.0.1:9180", "192.0.2.7", "[::1]:9180", "[2001:DB8::7]"],
  ...["localhost", "LocalHost:9180", "localhost.", "app.localhost:9180"],
];
const unknown = ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "notlocalhost", "0x7f000001", "1"];

describe("names of the admin listener", () => {
  test("on loopback, no name that somebody made up is answered", async () => {
    const six = ["::1", "0:0:0:0:0:0:0:1", "::0001", "::ffff:127.0.0.1", "::FFFF:7f00:1", "0:0:0:0:0:ffff:127.8.8.8"];
    for (const listen of ["127.0.0.1:0", "127.8.8.8:0", "localhost:0", ...six.map((address) => `[${address}]:0`)]) {
      expect(await statuses(listen, [], known)).toEqual(known.map(() => 0));
      expect(await statuses(listen, [], unknown)).toEqual(unknown.map(() => 421));
    }
  });

  test("elsewhere any name is, for a scraper uses what it resolves", async () => {
    for (
      const listen of [
        ":0",
        "0.0.0.0:0",
        "192.0.2.7:0",
        "[::]:0",
        "[::ffff:192.0.2.7]:0",
        "[2001:db8::1]:0",
        "no-such-host.invalid:0",
        "unix:/run/admin.sock",
      ]
    ) {
      expect(await statuses(listen, [], [...known, ...unknown])).toEqual([...known, ...unknown].map(() => 0));
    }
  });

  test("admin.hosts names those that are, wherever it listens; on a unix socket nobody is asked", async () => {
    const hosts = ["Metrics.internal", "app.example."];
    const named = [...known, "metrics.internal:9180", "METRICS.INTERNAL", "app.example", "app.example.:1"];
    for (const listen of [":0", "127.0.0.1:0"]) {
      expect(await statuses(listen, hosts, named)).toEqual(named.map(() => 0));
      expect(await statuses(listen, hosts, [...unknown, "internal", "x.metrics.internal"])).toEqual(
        [...unknown, 0, 0].map(() => 421),
      );
    }
    expect(await statuses("unix:/run/admin.sock", hosts, ["evil.example"])).toEqual([0]);
  });

  test("the name in admin.listen is one of them", async () => {
    expect(await statuses("metrics.internal:0", ["other.internal"], ["metrics.internal:9180", "evil.example"])).toEqual(
      [
        0,
        421,
      ],
    );
  });

  test("the refusal has a code and names the setting", async () => {
    const guard = await adminGuard(parseAddress("127.0.0.1:0"), []);
    const refused = guard(new TestExchange("/metrics", { headers: { host: "evil.example:9180" } }))!;
    expect(await refused.json()).toEqual({
      code: "ADMIN_HOST",
      error: 'expected an IP address, localhost or a name in admin.hosts as Host, got "evil.example:9180"',
    });
  });
});

describe("what changes something", () => {
  const host = "127.0.0.1:9180";
  const sent = async (listen: string, method: string, headers: Readonly<Record<string, string>>) => {
    const guard = await adminGuard(parseAddress(listen), []);
    return guard(new TestExchange("/-/reload", { method, headers: { host, ...headers } }))?.status ?? 0;
  };

  test("is not for pages of other sites, nor of other ports and names of this one", async () => {
    const pages: readonly Readonly<Record<string, string>>[] = [
      { origin: "http://shop.example" },
      { origin: "null" },
      { origin: "http://127.0.0.1:8080" },
      { origin: "http://127.0.0.1:9180.evil.example" },
      { origin: "http://127.0.0.1:9180", "sec-fetch-site": "same-site" },
      { "sec-fetch-site": "cross-site" },
    ];
    for (const listen of ["127.0.0.1:0", ":0", "unix:/run/admin.sock"]) {
      for (const headers of pages) {
        for (const method of ["POST", "PUT", "PATCH", "DELETE"]) expect(await sent(listen, method, headers)).toBe(403);
        for (const method of ["GET", "HEAD", "OPTIONS"]) expect(await sent(listen, method, headers)).toBe(0);
      }
    }
  });

  test("is for who is no browser, and for pages of the listener's own", async () => {
    for (const listen of ["127.0.0.1:0", ":0", "unix:/run/admin.sock"]) {
      expect(await sent(listen, "POST", {})).toBe(0);
      expect(await sent(listen, "POST", { origin: "http://127.0.0.1:9180" })).toBe(0);
      expect(await sent(listen, "POST", { "sec-fetch-site": "same-origin" })).toBe(0);
    }
  });

  test("is not for a page that has its own name point here, where names are not checked", async () => {
    const page = { host: "evil.example:9180", origin: "http://evil.example:9180", "sec-fetch-site": "same-origin" };
    expect(await sent(":0", "GET", page)).toBe(0);
    expect(await sent(":0", "POST", page)).toBe(403);
  });
});
