import { describe, expect, test } from "bun:test";
import {
  type CappedStatement,
  type SessionCaps,
  type StatementAnswer,
  type StatementPermit,
} from "../../core/contracts/statement_caps.ts";
import { start as startPlugin } from "./started.ts";

const reports = "SELECT * FROM `orders` WHERE `id` = ?";
const one: CappedStatement = { schema: "shop", digest: { hash: "00000000000000aa", text: reports } };
const other: CappedStatement = { schema: "blog", digest: { hash: "00000000000000bb", text: "SELECT ?" } };
const unknown: CappedStatement = { schema: undefined, digest: undefined };

async function start(statements: readonly unknown[], more: Record<string, unknown> = {}) {
  const started = await startPlugin({ statements, ...more });
  const served = (databases: readonly string[] = ["mysql"]) => started.statements.serve(databases);
  const of = (user: string, db = "mysql"): SessionCaps | undefined => served(["mysql", "blog"]).get(db)?.of(user);
  return { ...started, served, of };
}

const enter = (caps: SessionCaps | undefined, statement: CappedStatement, owner: object = {}, patient = true) =>
  caps!.of(statement)!.enter(statement, { owner, patient, signal: new AbortController().signal });
const name = (answer: unknown) => {
  const { granted, bulkhead, reason } = answer as Exclude<StatementAnswer, StatementPermit>;
  return granted ? "granted" : `${bulkhead}: ${reason}`;
};
const cap = { name: "a", max_concurrent: 1 };

describe("what a cap is about", () => {
  test("a user, a schema, a digest, a text, a database, and all that is said of them together", async () => {
    const matched = async (table: object, user: string, statement: CappedStatement, db?: string) => {
      const { of } = await start([{ ...cap, ...table }]);
      return of(user, db)?.of(statement) !== undefined;
    };
    expect(await matched({ user: "anna" }, "anna", one)).toBe(true);
    expect(await matched({ user: "anna" }, "anna", unknown)).toBe(true);
    expect(await matched({ user: ["anna", "bert"] }, "bert", one)).toBe(true);
    expect(await matched({ user: "anna" }, "Anna", one)).toBe(false);
    expect(await matched({ schema: "shop" }, "anna", one)).toBe(true);
    expect(await matched({ schema: "shop" }, "anna", other)).toBe(false);
    expect(await matched({ schema: "shop" }, "anna", unknown)).toBe(false);
    expect(await matched({ digest: "00000000000000aa" }, "anna", one)).toBe(true);
    expect(await matched({ digest: "00000000000000aa" }, "anna", other)).toBe(false);
    expect(await matched({ digest: "00000000000000aa" }, "anna", unknown)).toBe(false);
    expect(await matched({ text: "SELECT % FROM `orders`%" }, "anna", one)).toBe(true);
    expect(await matched({ text: "SELECT % FROM `orders`%" }, "anna", other)).toBe(false);
    expect(await matched({ text: ["x", "SELECT ?"] }, "anna", other)).toBe(true);
    expect(await matched({ db: "blog" }, "anna", one, "blog")).toBe(true);
    expect(await matched({ db: "blog" }, "anna", one, "mysql")).toBe(false);
    expect(await matched({ user: "anna", text: "SELECT ?" }, "anna", one)).toBe(false);
    expect(await matched({ key: "user" }, "anna", unknown)).toBe(true);
  });

  test("a user whom no entry is about has no caps to ask, and a database without one none at all", async () => {
    const { of, served } = await start([{ ...cap, user: "anna" }]);
    expect(of("bert")).toBe(undefined);
    expect((await start([{ ...cap, db: "blog" }])).served(["mysql", "blog"]).has("mysql")).toBe(false);
    expect((await start([])).served().size).toBe(0);
    expect(served().size).toBe(1);
  });

  test("the text is read once for each digest", async () => {
    const { of } = await start([{ ...cap, text: "SELECT ?" }]);
    let reads = 0;
    const digest = {
      hash: "00000000000000cc",
      get text() {
        return reads++, "SELECT ?";
      },
    };
    const caps = of("anna")!;
    for (let i = 0; i < 3; i++) expect(caps.of({ schema: undefined, digest })).toBeDefined();
    expect(reads).toBe(1);
  });

  test("the first entry that matches counts", async () => {
    const { of } = await start([
      { name: "reports", text: "% FROM `orders`%", max_concurrent: 1 },
      { name: "anna", user: "anna", max_concurrent: 1 },
    ]);
    const caps = of("anna");
    expect(name(enter(caps, one))).toBe("granted");
    expect(name(enter(caps, one))).toBe("reports: full");
    expect(name(enter(caps, other))).toBe("granted");
    expect(name(enter(caps, other))).toBe("anna: full");
  });
});

describe("a cap", () => {
  test("gives permits in order of arrival, within the call where it can", async () => {
    const { of, advance } = await start([{ ...cap, user: "anna", max_wait: "1s", max_queue: 2 }]);
    const caps = of("anna");
    const first = enter(caps, one) as StatementPermit;
    const order: number[] = [];
    const waits = [0, 1].map(async (i) => {
      const permit = await enter(caps, one) as StatementPermit;
      order.push(i);
      return permit;
    });
    expect(name(await enter(caps, one))).toBe("a: queue_full");
    expect(name(await enter(caps, one, {}, false))).toBe("a: full");
    await advance(10);
    first.release();
    first.release();
    (await waits[0]!).release();
    await waits[1];
    expect(order).toEqual([0, 1]);
    const late = enter(caps, one);
    await advance(1000);
    expect(await late).toMatchObject({ granted: false, bulkhead: "a", limit: 1, reason: "timeout", waitedMs: 1000 });
  });

  test("has a key's own permits, within those of all", async () => {
    const { of } = await start([{ ...cap, key: "user", within: "all" }], { limits: { all: { max_concurrent: 2 } } });
    expect(name(enter(of("anna"), one))).toBe("granted");
    expect(name(enter(of("anna"), other))).toBe("a/anna: full");
    const bert = enter(of("bert"), one) as StatementPermit;
    expect(name(enter(of("carl"), one))).toBe("all: full");
    bert.release();
    expect(name(enter(of("carl"), one))).toBe("granted");
    expect(name(enter(of(""), one))).toBe("all: full");
  });

  test("has permits by schema and by digest, whatever these are", async () => {
    const schemas = (await start([{ ...cap, key: "schema" }])).of("anna");
    expect([one, other, unknown, unknown].map((statement) => name(enter(schemas, statement)))).toEqual(
      ["granted", "granted", "granted", "a/~28none~29: full"],
    );
    const long = { schema: "x".repeat(500), digest: undefined };
    expect([long, long].map((statement) => name(enter(schemas, statement)))).toEqual(["granted", "a/~28long~29: full"]);
    const digests = (await start([{ ...cap, key: "digest" }])).of("anna");
    expect([one, one].map((statement) => name(enter(digests, statement)))).toEqual(
      ["granted", "a/00000000000000aa: full"],
    );
  });

  test("shows who holds and who waits, and logs who was refused", async () => {
    const { of, look, logged } = await start([{ ...cap, user: "anna" }]);
    const session = { db: "mysql", user: "anna", connection: 7 };
    enter(of("anna"), one, session);
    enter(of("anna"), one, session);
    expect((await look()).bulkheads).toMatchObject([{ name: "a", active: 1, held: [session] }]);
    expect(logged.map(({ message, fields }) => [message, fields["connection"]])).toEqual([[
      "Refused at bulkhead a: full",
      7,
    ]]);
  });
});

describe("the configuration", () => {
  const wrong = async (statements: readonly unknown[], more?: Record<string, unknown>) => {
    try {
      const { served, hooks } = await start(statements, more);
      if (statements.length === 0 || !(statements[0] as { db?: string }).db) await hooks.onListen.handler();
      served();
    } catch (error) {
      return (error as Error).message;
    }
    return "accepted";
  };

  test("is refused where it makes no sense", async () => {
    const user = { ...cap, user: "anna" };
    expect(await wrong([cap])).toContain("expected db, user, schema, digest or text, or a key");
    expect(await wrong([{ ...cap, digest: "8f3a" }])).toContain("16 hexadecimal digits");
    expect(await wrong([{ user: "anna", name: "a" }])).toContain("[bulkhead.limits.a]");
    expect(await wrong([{ ...user, within: "all" }])).toContain("[bulkhead.limits.all]");
    expect(await wrong([{ ...user, within: "a" }])).toContain("another bulkhead");
    expect(await wrong([user, { ...user, max_concurrent: 2 }])).toContain("expected 1, as in an entry before it");
    expect(await wrong([{ ...cap, db: "shop" }])).toContain('expected db to be one of "mysql", got "shop"');
    expect(await wrong([user])).toContain("there is none: add [db.mysql]");
  });

  test("keeps routes and statements apart: a request would wait for itself", async () => {
    const routes = [{ path: "/a", name: "a", max_concurrent: 1, within: "all" }];
    const limits = { all: { max_concurrent: 3 } };
    const clash = "expected a bulkhead that no route takes";
    expect(await wrong([{ ...cap, user: "anna" }], { routes, limits })).toContain(clash);
    expect(await wrong([{ ...cap, name: "b", user: "anna", within: "all" }], { routes, limits })).toContain(clash);
    expect(await wrong([], { routes, limits })).toBe("accepted");
  });
});
