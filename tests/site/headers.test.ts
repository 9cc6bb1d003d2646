import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { CoreError } from "../../core/error.ts";
import { nameProblem, valueProblem } from "../../plugins/site/header_names.ts";
import type { HeaderRule } from "../../plugins/site/header_rules.ts";
import { SiteHeaders } from "../../plugins/site/headers.ts";
import { type ExchangeInit, TestExchange } from "../support/exchange.ts";

const rule = (more: Partial<HeaderRule>): HeaderRule => ({
  match: "/**",
  status: "all",
  remove: [],
  set: {},
  default: {},
  add: {},
  ...more,
});

interface Answered {
  readonly path?: string;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly extra?: readonly (readonly [string, string])[];
  /** By `x.respond`, as a plain response, or as one whose headers cannot be changed. */
  readonly how?: "respond" | "plain" | "immutable";
  readonly init?: ExchangeInit;
}

function immutable(response: Response): Response {
  const { headers } = response;
  const refuse = () => {
    throw new TypeError("immutable");
  };
  for (const name of ["set", "append", "delete"]) Object.defineProperty(headers, name, { value: refuse });
  return response;
}

/** The headers that the client gets. */
function sent(rules: readonly HeaderRule[], answered: Answered = {}): Headers {
  const { path = "/", status = 200, headers = {}, extra = [], how = "plain", init } = answered;
  const x = new TestExchange(path, init);
  x.extra.push(...extra);
  const plain = () => new Response(null, { status, headers });
  const made = how === "respond"
    ? x.respond(null, status, Object.entries(headers))
    : how === "plain"
    ? plain()
    : immutable(plain());
  return x.stamp(new SiteHeaders(rules).answer(x, made)).headers;
}

describe("a rule", () => {
  for (const how of ["respond", "plain", "immutable"] as const) {
    test(`removes, sets, fills in and adds (${how})`, () => {
      const headers = sent([
        rule({
          remove: ["x-powered-by", "server-timing"],
          set: { "x-frame-options": "DENY", "x-extra": "ours" },
          default: { "referrer-policy": "no-referrer", "x-app": "never", "x-said": "never" },
          add: { link: "</b>", "set-cookie": "b=2" },
        }),
      ], {
        how,
        headers: {
          "x-powered-by": "PHP/8.2",
          "x-frame-options": "SAMEORIGIN",
          "x-app": "yes",
          link: "</a>",
          "set-cookie": "a=1",
        },
        extra: [["Server-Timing", "adm;dur=1"], ["X-Extra", "theirs"], ["x-said", "before"]],
      });
      expect(headers.get("x-powered-by")).toBe(null);
      expect(headers.get("server-timing")).toBe(null);
      expect(headers.get("x-frame-options")).toBe("DENY");
      expect(headers.get("x-extra")).toBe("ours");
      expect(headers.get("referrer-policy")).toBe("no-referrer");
      expect(headers.get("x-app")).toBe("yes");
      expect(headers.get("x-said")).toBe("before");
      expect(headers.get("link")).toBe("</a>, </b>");
      expect(headers.getSetCookie()).toEqual(["a=1", "b=2"]);
    });
  }

  test("is for its paths, hosts, scheme and statuses; all that match count, in order", () => {
    const rules = [
      rule({ match: "/a/**", set: { a: "path" } }),
      rule({ host: ["*.example"], set: { b: "host" } }),
      rule({ scheme: "https", set: { c: "scheme" } }),
      rule({ status: "success", set: { d: "success" } }),
      rule({ status: [404], set: { e: "404" } }),
      rule({ set: { b: "later" } }),
    ];
    const names = (answered: Answered) =>
      Object.entries(Object.fromEntries(sent(rules, answered))).filter(([name]) => name.length === 1).map((e) =>
        e.join("=")
      );
    expect(names({ path: "/a/b" })).toEqual(["a=path", "b=later", "d=success"]);
    expect(names({ path: "/b", status: 404 })).toEqual(["b=later", "e=404"]);
    expect(names({ path: "/b", status: 304 })).toEqual(["b=later", "d=success"]);
    expect(names({ path: "/b", status: 301 })).toEqual(["b=later"]);
  });

  test("makes a 304 say what the 200 said, and no more", () => {
    const headers = sent([
      rule({
        set: { "strict-transport-security": "max-age=1", "content-type": "text/css", "cache-control": "max-age=5" },
        default: { vary: "Cookie", "x-frame-options": "DENY", "x-app": "no" },
        add: { link: "</b>", "x-app": "more" },
        status: [200],
      }),
    ], { status: 304, headers: { etag: '"1"', "x-app": "yes" } });
    const { "x-request-id": _, ...said } = Object.fromEntries(headers);
    expect(said).toEqual({
      "strict-transport-security": "max-age=1",
      "cache-control": "max-age=5",
      vary: "Cookie",
      etag: '"1"',
      "x-app": "yes, more",
    });
  });

  test("is for the answer to an error too", () => {
    const rules = [
      rule({ set: { a: "1", "content-type": "text/html" }, add: { b: "2" }, remove: ["c"] }),
      rule({ status: [502], set: { status: "502" } }),
      rule({ status: [500], set: { status: "500" } }),
    ];
    const extraOf = (error: unknown) => {
      const x = new TestExchange("/");
      x.extra.push(["C", "3"], ["A", "4"]);
      new SiteHeaders(rules).failed(x, error);
      return x.extra;
    };
    expect(extraOf(new CoreError("X", "x", { status: 502 }))).toEqual([["a", "1"], ["b", "2"], ["status", "502"]]);
    expect(extraOf(new Error("x"))).toEqual([["a", "1"], ["b", "2"], ["status", "500"]]);
  });
});

test("names and values that could break a message are refused", () => {
  for (
    const name of [
      "Content-Length",
      "transfer-encoding",
      "CONNECTION",
      "Keep-Alive",
      "Upgrade",
      "Trailer",
      "TE",
      "Proxy-Connection",
      "Content-Encoding",
      "X-Request-Id",
      "",
      "a b",
      "a:",
      "\u00e9",
      "a\r\nb",
    ]
  ) {
    expect(nameProblem(name)).toBeDefined();
  }
  for (const name of ["Strict-Transport-Security", "x_y", "Vary", "ETag"]) expect(nameProblem(name)).toBe(undefined);
  fc.assert(
    fc.property(
      fc.string({ unit: "binary", maxLength: 8 }),
      fc.string({ unit: "binary", maxLength: 8 }),
      (name, value) => {
        if (nameProblem(name) !== undefined || valueProblem(value) !== undefined) return;
        // What is let through is said as it stands.
        expect(sent([rule({ set: { [name.toLowerCase()]: value } })]).get(name)).toBe(value);
      },
    ),
    { numRuns: 2000 },
  );
  for (const value of ["", " a", "a ", "a\r\nb", "a\0", "\u00e9", "\t"]) expect(valueProblem(value)).toBeDefined();
  for (const value of ["a", "a b", "a\tb", 'x="y"; z']) expect(valueProblem(value)).toBe(undefined);
});

test("whatever rules there are, what a response says of its framing stays", () => {
  const names = fc.constantFrom("vary", "x-a", "x-b", "etag", "cache-control");
  const some = fc.dictionary(names, fc.constantFrom("1", "2"));
  const anyRule = fc.record({ set: some, add: some, default: some, remove: fc.array(names) });
  fc.assert(fc.property(fc.array(anyRule), some, fc.constantFrom(200, 304, 404, 500), (rules, said, status) => {
    const own = { "content-length": "0", "content-encoding": "gzip" };
    const headers = sent(rules.map(rule), { status, headers: { ...said, ...own } });
    for (const [name, value] of Object.entries(own)) expect(headers.get(name)).toBe(value);
    const last = rules.at(-1);
    for (const [name, value] of Object.entries(last?.set ?? {})) {
      expect(headers.get(name)?.split(", ")[0]).toBe(value);
    }
  }));
});
