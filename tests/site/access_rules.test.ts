import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { canonicalPath, pathOf } from "../../core/http/path.ts";
import { VirtualHosts } from "../../core/http/virtual_hosts.ts";
import { type AccessRule, accessRules, addressTest, covers } from "../../plugins/site/access_rules.ts";
import { halfNamed } from "../../plugins/site/half_named.ts";

const rule = (more: Partial<AccessRule<string>>): AccessRule<string> => ({ match: "/**", satisfy: "all", ...more });

/** What becomes of a request: `pass`, `refuse` or `ask REALM`. */
function decide(
  rules: readonly AccessRule<string>[],
  target: string,
  address: string | undefined = "192.0.2.7",
  host = "shop.example",
) {
  const decision = accessRules(rules)({ path: canonicalPath(pathOf(target))!, target, host }, () => address);
  return decision.kind === "ask" ? `ask ${decision.auth}` : decision.kind;
}

describe("addresses", () => {
  const cases: readonly [list: readonly string[], address: string, inside: boolean][] = [
    [["10.0.0.0/8"], "10.255.0.1", true],
    [["10.0.0.0/8"], "11.0.0.1", false],
    [["10.0.0.0/8"], "::ffff:10.0.0.1", true],
    [["10.0.0.0/8"], "::ffff:0a00:0001", true],
    [["::ffff:10.0.0.0/104"], "10.255.0.1", true],
    [["::ffff:10.0.0.0/104"], "11.0.0.1", false],
    [["::ffff:10.0.0.1"], "10.0.0.1", true],
    [["::1"], "::1", true],
    [["::1"], "0:0:0:0:0:0:0:1", true],
    [["fe80::/10"], "fe80::1%eth0", true],
    [["2001:db8::/32"], "2001:db8:1::1", true],
    [["2001:db8::/32"], "2001:db9::1", false],
    [["all"], "", true],
    [["all"], "192.0.2.1", true],
    [["10.0.0.0/8"], "", false],
    [["unix"], "", true],
    [["unix"], "127.0.0.1", false],
  ];
  for (const [list, address, inside] of cases) {
    test(`${address || "nobody's"} is ${inside ? "" : "not "}among ${list}`, () => {
      expect(addressTest(list)(address)).toBe(inside);
    });
  }
});

describe("a rule", () => {
  test("covers what lies below what it matches", () => {
    for (const pattern of ["/admin", "/admin/", "/admin/**"]) {
      for (const path of ["/admin", "/admin/", "/admin/x", "/admin/x/y.php"]) expect(covers(pattern)(path)).toBe(true);
      for (const path of ["/", "/administrator", "/Admin", "/x/admin"]) expect(covers(pattern)(path)).toBe(false);
    }
    expect(covers("/admin.php")("/admin.php/users")).toBe(true);
    expect(covers("/**/*.php")("/a/b.php/c")).toBe(true);
    expect(covers("/wp-*.php")("/wp-login.php")).toBe(true);
    for (const path of ["/", "/a", "/a/b", "/a\nb"]) {
      expect([covers("/")(path), covers("/**")(path)]).toEqual([true, true]);
    }
  });

  test("lets in by address: deny before allow, and nobody else where somebody is allowed", () => {
    const inner = [rule({ allow: ["10.0.0.0/8"], deny: ["10.0.0.1"] })];
    expect(decide(inner, "/", "10.0.0.2")).toBe("pass");
    expect(decide(inner, "/", "10.0.0.1")).toBe("refuse");
    expect(decide(inner, "/", "192.0.2.7")).toBe("refuse");
    expect(decide([rule({ deny: ["192.0.2.0/24"] })], "/", "10.0.0.1")).toBe("pass");
    expect(decide([rule({ deny: ["all"] })], "/", "10.0.0.1")).toBe("refuse");
  });

  test("asks for a password beside the address, or instead", () => {
    const both = [rule({ allow: ["10.0.0.0/8"], auth: "A" })];
    expect([decide(both, "/", "10.0.0.1"), decide(both, "/")]).toEqual(["ask A", "refuse"]);
    const either = [rule({ allow: ["10.0.0.0/8"], auth: "A", satisfy: "any" })];
    expect([decide(either, "/", "10.0.0.1"), decide(either, "/")]).toEqual(["pass", "ask A"]);
    expect(decide([rule({ auth: "A" })], "/")).toBe("ask A");
  });

  test("is the first that matches; its host may be named in any way that is the same", () => {
    const rules = [
      rule({ match: "/open/**", allow: ["all"] }),
      rule({ host: ["intern.example"], auth: "host" }),
      rule({ match: "/admin", auth: "path" }),
    ];
    expect(decide(rules, "/open/x")).toBe("pass");
    for (const host of ["intern.example", "INTERN.example.", "intern.example:8443"]) {
      expect(decide(rules, "/", "192.0.2.7", host)).toBe("ask host");
    }
    expect(decide(rules, "/admin/x")).toBe("ask path");
    expect(decide(rules, "/")).toBe("pass");
  });
});

test("a client whose address cannot be told is in no list, and kept out where somebody is", () => {
  const decision = (more: Partial<AccessRule<string>>) =>
    accessRules([rule(more)])({ path: "/", target: "/", host: "shop.example" }, () => undefined).kind;
  expect(decision({ allow: ["unix", "0.0.0.0/0", "::/0"] })).toBe("refuse");
  expect(decision({ deny: ["192.0.2.1"] })).toBe("refuse");
  expect(decision({ deny: ["192.0.2.1"], auth: "A", satisfy: "any" })).toBe("ask");
  expect(decision({ allow: ["all"] })).toBe("pass");
});

describe("what an application may read as another path", () => {
  const admin = rule({ match: "/admin", auth: "staff" });

  test("behind the name of a script is closed as that path is", () => {
    for (const target of ["/index.php/admin", "/index.php/admin/x?y", "/index.php//admin", "/%69ndex.php/%61dmin"]) {
      expect(decide([admin], target)).toBe("ask staff");
      expect(decide([rule({ match: "/admin", deny: ["all"] })], target)).toBe("refuse");
    }
    expect(decide([rule({ match: "/blog/admin", auth: "A" })], "/blog/index.php/admin")).toBe("ask A");
    for (
      const target of ["/index.php", "/index.php/", "/index.php/shop/admin", "/index.phpx/admin", "/a?b=/x.php/admin"]
    ) {
      expect(decide([admin], target)).toBe("pass");
    }
  });

  test("opens nothing, and what an earlier rule opens stays open", () => {
    const rules = [rule({ match: "/open", allow: ["all"] }), rule({ auth: "A" })];
    expect(decide(rules, "/secret.php/open")).toBe("ask A");
    expect(decide([rule({ match: "/hook.php", allow: ["all"] }), rule({ auth: "A" })], "/hook.php/x")).toBe("pass");
    expect(decide(rules, "/open/index.php/x")).toBe("pass");
    // A client has one password, and would need two.
    expect(decide([admin, rule({ auth: "A" })], "/index.php/admin")).toBe("refuse");
    expect(decide([admin, rule({ auth: "staff" })], "/index.php/admin")).toBe("ask staff");
    expect(decide([rule({ match: "/index.php/admin", auth: "A" }), admin], "/index.php/admin")).toBe("ask A");
  });

  test("by dot segments is closed whatever is open", () => {
    const rules = [rule({ match: "/open", allow: ["all"] }), admin];
    for (
      const target of [
        "/admin/x/../../open",
        "/admin/..%2fopen",
        "/admin/%2e%2E\\open",
        "/index.php/admin/../../open",
        "/%61dmin/../open",
      ]
    ) {
      expect([target, decide(rules, target)]).toEqual([target, "ask staff"]);
    }
    expect(decide(rules, "/x/../open/./y")).toBe("pass");
  });
});

test("no spelling of a path gets around a rule for it", () => {
  const closed = [rule({ match: "/admin/**", deny: ["all"] })];
  const letter = (text: string) =>
    fc.constantFrom(text, `%${text.charCodeAt(0).toString(16)}`, `%${text.charCodeAt(0).toString(16).toUpperCase()}`);
  const slash = fc.constantFrom("/", "//", "/./", "/x/../", "\\", "%2f", "%5c", "/%2e/", "/y/%2E%2e/", "/.//");
  const admin = fc.tuple(...[..."admin"].map(letter)).map((letters) => letters.join(""));
  fc.assert(
    fc.property(
      slash,
      admin,
      slash,
      fc.constantFrom("", "a", "a/b.php", "..;/", "a%00"),
      (before, name, after, rest) => {
        const raw = `${before}${name}${after}${rest}`;
        if (!raw.startsWith("/")) return;
        const path = canonicalPath(raw);
        if (path === undefined) return;
        // Backslashes that were escaped are part of a name, and no file of ours has one.
        if (path.includes("\\")) return;
        expect(decide(closed, raw)).toBe("refuse");
      },
    ),
    { numRuns: 2000 },
  );
});

test("a rule that names a site by some of its names only is told of", () => {
  const { all } = new VirtualHosts("public", {
    "shop.example": { public: "shop", aliases: ["www.shop.example", "*.shop.example"] },
    "blog.example": { public: "blog" },
  }, "/");
  const told = (...host: string[]) => halfNamed([{ host: ["blog.example"] }, { host }, {}], all);
  expect(told("shop.example")).toEqual([
    "site.access[1].host has shop.example and not www.shop.example, *.shop.example, the same site: by that name the rule does " +
    "not count",
  ]);
  expect(told("www.shop.example", "shop.example")[0]).toContain("has shop.example and not *.shop.example,");
  expect(told("shop.example", "*.shop.example")).toEqual([]);
  expect(told("other.example")).toEqual([]);
});
