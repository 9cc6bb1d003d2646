import { describe, expect, test } from "bun:test";
import type { Permit } from "../../core/plugin.ts";
import { ticks } from "./memory.ts";
import { exchange, start } from "./started.ts";

const isPermit = (verdict: unknown): verdict is Permit =>
  typeof (verdict as Permit | undefined)?.release === "function";
const never = () => new AbortController().signal;
const exports = { path: "/export/**", name: "export", max_concurrent: 1 };

describe("config", () => {
  test("has no route and the memory store by default, and puts no hook in the way then", async () => {
    const { hooks, look } = await start({});
    expect(hooks.onAdmit).toBe(undefined);
    expect(await look()).toEqual({ store: "memory", bulkheads: [] });
  });

  test("refuses what makes no sense", async () => {
    const wrong = async (table: unknown) => {
      try {
        await start(table);
      } catch (error) {
        return (error as Error).message;
      }
      return "accepted";
    };
    expect(await wrong({ store: "apcu" })).toContain('"memory"');
    expect(await wrong({ limits: { a: {} } })).toContain("number");
    expect(await wrong({ limits: { "a b": { max_concurrent: 1 } } })).toContain("Invalid key");
    expect(await wrong({ limits: { a: { max_concurrent: 0 } } })).toContain(">=1");
    expect(await wrong({ limits: { a: { max_concurrent: 1, lease: 0 } } })).toContain("more than 0");
    expect(await wrong({ routes: [{ name: "a", max_concurrent: 1 }] })).toContain("expected path, host or method");
    expect(await wrong({ routes: [{ ...exports, key: "colour" }] })).toContain("header:NAME");
    expect(await wrong({ routes: [{ path: "/a", name: "a" }] })).toContain("[bulkhead.limits.a]");
    expect(await wrong({ routes: [{ ...exports, within: "all" }] })).toContain("[bulkhead.limits.all]");
    expect(await wrong({ routes: [{ ...exports, within: "export" }] })).toContain("another bulkhead");
  });
});

describe("a capped route", () => {
  test("lets in up to its cap ahead of all other gates, and leaves other requests alone", async () => {
    const { hooks, admit } = await start({ routes: [exports] });
    expect(hooks.onAdmit?.order).toBe("pre");
    expect(admit(exchange("/"))).toBe(undefined);
    const first = admit(exchange("/export/a.csv")) as Permit;
    expect(isPermit(first)).toBe(true);
    const x = exchange("/export/b.csv");
    const refused = admit(x) as Response;
    expect([refused.status, refused.headers.get("retry-after"), x.handler]).toEqual([503, "1", "bulkhead"]);
    first.release();
    expect(isPermit(admit(exchange("/export/c.csv")))).toBe(true);
  });

  test("makes the others wait in order of arrival, and tells how long they did", async () => {
    const { admit, advance } = await start({ routes: [{ ...exports, max_wait: "1s" }] });
    const first = admit(exchange("/export/a")) as Permit;
    const x = exchange("/export/b");
    const order: string[] = [];
    const second = Promise.resolve(admit(x)).then((verdict) => (order.push("b"), verdict as Permit));
    const third = Promise.resolve(admit(exchange("/export/c"))).then((verdict) => (order.push("c"), verdict as Permit));
    await advance(30);
    first.release();
    (await second).release();
    (await third).release();
    expect(order).toEqual(["b", "c"]);
    expect(x.extra).toEqual([["server-timing", "bulkhead;dur=30.0"]]);
  });

  test("ends a wait at max_wait with 503, at the request's own deadline with 504", async () => {
    const { admit, advance } = await start({ routes: [{ ...exports, max_wait: "1s" }] });
    admit(exchange("/export/a"));
    const hurried = exchange("/export/b");
    hurried.deadline = 400;
    const verdicts = [admit(exchange("/export/c")), admit(hurried)] as Promise<Response>[];
    await advance(400);
    expect((await verdicts[1]!).status).toBe(504);
    await advance(600);
    expect((await verdicts[0]!).status).toBe(503);
  });

  test("forgets a client that leaves, and does not run one that left unheard", async () => {
    const { admit, advance, look } = await start({ routes: [{ ...exports, max_wait: "1s" }] });
    const first = admit(exchange("/export/a")) as Permit;
    const leaver = exchange("/export/b");
    const left = admit(leaver) as Promise<Response>;
    leaver.leave();
    expect((await left).status).toBe(499);
    const unheard = exchange("/export/c");
    const late = admit(unheard) as Promise<Response>;
    await advance(100);
    Object.defineProperty(unheard, "gone", { value: true });
    first.release();
    expect((await late).status).toBe(499);
    expect((await look()).bulkheads[0]).toMatchObject({ active: 0, queued: 0 });
  });

  test("matches by path, host and method, the first that does", async () => {
    const { admit } = await start({
      routes: [
        { method: ["post", "PUT"], host: "*.shop.example", path: "/api/**", name: "write", max_concurrent: 1 },
        { path: ["/api/**", "/rpc"], name: "api", max_concurrent: 2 },
      ],
    });
    const write = (target: string, host = "eu.shop.example:8080") =>
      exchange(target, { method: "POST", headers: { host } });
    expect(isPermit(admit(write("/api/x")))).toBe(true);
    expect((admit(write("/api/y", "US.shop.example.")) as Response).status).toBe(503);
    expect(isPermit(admit(write("/api/z", "other.example")))).toBe(true);
    expect(isPermit(admit(exchange("/rpc")))).toBe(true);
    expect((admit(exchange("/api/q")) as Response).status).toBe(503);
  });

  test("has a cap for each key, and answers 429 to a key that has its own", async () => {
    const cases = [
      ["client", { peer: { address: "192.0.2.1", port: 1 } }, { peer: { address: "2001:db8::1", port: 1 } }],
      ["header:X-Tenant", { headers: { "x-tenant": "a b" } }, {}],
      ["cookie:sid", { headers: { cookie: "a=1; sid=x" } }, { headers: { cookie: "a=1; sid=y" } }],
      ["host", { headers: { host: "a.example" } }, { headers: { host: "b.example:81" } }],
    ] as const;
    for (const [key, one, other] of cases) {
      const { admit } = await start({ routes: [{ ...exports, key }] });
      expect([key, isPermit(admit(exchange("/export/a", one)))]).toEqual([key, true]);
      expect([key, (admit(exchange("/export/b", one)) as Response).status]).toEqual([key, 429]);
      expect([key, isPermit(admit(exchange("/export/c", other)))]).toEqual([key, true]);
    }
    const { admit } = await start({ routes: [{ ...exports, key: "route" }] });
    expect(isPermit(admit(exchange(`/export/${"x".repeat(5000)}`)))).toBe(true);
    expect((admit(exchange("/export/a")) as Permit).release).toBeDefined();
    expect((admit(exchange("/export/a")) as Response).status).toBe(429);
  });

  test("shares its permits and terms with the bulkhead of its name", async () => {
    const { admit, bulkheads, meter } = await start({
      limits: { export: { max_concurrent: 2 } },
      routes: [{ path: "/export/**", name: "export" }],
    });
    await using _ = await bulkheads.get("export").acquire();
    const permit = admit(exchange("/export/a")) as Permit;
    expect((admit(exchange("/export/b")) as Response).status).toBe(503);
    permit.release();
    expect(meter.counts.get("fairlead_bulkhead_total{export,full}")).toBe(1);
  });

  test("refuses who waits and who comes once the server drains, while scripts that run still get permits", async () => {
    const { admit, bulkheads, hooks } = await start({ routes: [{ ...exports, max_wait: "1m" }] });
    const first = admit(exchange("/export/a")) as Permit;
    const waits = admit(exchange("/export/b")) as Promise<Response>;
    await hooks.onDrain(never());
    expect((await waits).status).toBe(503);
    expect((admit(exchange("/export/c")) as Response).status).toBe(503);
    first.release();
    expect(await bulkheads.get("export", { maxConcurrent: 1 }).call(() => "runs")).toBe("runs");
    await hooks.onClose.handler();
    expect(await bulkheads.get("export", { maxConcurrent: 1 }).acquire().catch(({ code }) => code))
      .toBe("BULKHEAD_DRAINING");
  });
});

describe("numbers", () => {
  test("count what was asked by how it ended, and show what is out and in line", async () => {
    const { bulkheads, meter, advance } = await start({ limits: { api: { max_concurrent: 2, max_wait: "1s" } } });
    const api = bulkheads.get("api");
    const held = await api.acquire({ weight: 2 });
    const waits = api.acquire();
    await ticks();
    await advance(100);
    const read = () =>
      ["limit", "in_use", "queued", "oldest_wait_seconds"].map((name) =>
        meter.read(`fairlead_bulkhead_${name}`, "api")
      );
    expect(read()).toEqual([2, 2, 1, 0.1]);
    await held.release();
    await (await waits).release();
    await bulkheads.get("api", { maxConcurrent: 1 }).call(() => {});
    await advance(100);
    expect(read()).toEqual([1, 0, 0, 0]);
    const total = (outcome: string) => meter.counts.get(`fairlead_bulkhead_total{api,${outcome}}`);
    expect([total("immediate"), total("queued"), total("full")]).toEqual([2, 1, 0]);
    expect(meter.observed.get("fairlead_bulkhead_wait_seconds{api}")).toEqual([0, 0.1, 0]);
    expect(meter.counts.get("fairlead_bulkhead_mismatches_total{api}")).toBe(1);
  });

  test("add up the keys of a bulkhead under its name", async () => {
    const { bulkheads, meter } = await start({});
    const keyed = bulkheads.keyed("tenants", { maxConcurrent: 3 });
    for (const key of ["a", "a", "b"]) await keyed.for(key).acquire();
    expect(meter.read("fairlead_bulkhead_in_use", "tenants")).toBe(3);
    expect(meter.read("fairlead_bulkhead_limit", "tenants")).toBe(3);
    expect(meter.counts.get("fairlead_bulkhead_total{tenants,immediate}")).toBe(3);
  });

  test("stay few, whatever names scripts make up", async () => {
    const { bulkheads, meter } = await start({});
    for (let i = 0; i < 700; i++) await bulkheads.get(`n${i}`, { maxConcurrent: 1 }).call(() => {});
    const labels = [...meter.counts.keys()].filter((name) => /total\{.*immediate/.test(name));
    expect(labels.length).toBe(501);
    expect(meter.counts.get("fairlead_bulkhead_total{_other,immediate}")).toBe(200);
  });
});

test("the admin listener shows who holds and who waits", async () => {
  const { admit, admin, look, advance } = await start({
    limits: { idle: { max_concurrent: 9 } },
    routes: [{ ...exports, max_wait: "1s" }],
  });
  const x = exchange("/export/a?b=1");
  admit(x);
  void admit(exchange("/export/c"));
  await advance(40);
  expect(await look()).toEqual({
    store: "memory",
    bulkheads: [
      {
        name: "export",
        limit: 1,
        active: 1,
        holders: 1,
        queued: 1,
        oldest_wait_ms: 40,
        held: [{ weight: 1, fence: expect.any(Number), held_ms: 40, request: x.id, target: "/export/a?b=1" }],
        held_more: 0,
        waiting: [{ weight: 1, waited_ms: 40, request: expect.any(String), target: "/export/c" }],
        waiting_more: 0,
      },
      {
        name: "idle",
        limit: 9,
        active: 0,
        holders: 0,
        queued: 0,
        oldest_wait_ms: 0,
        held: [],
        held_more: 0,
        waiting: [],
        waiting_more: 0,
      },
    ],
  });
  expect((await look("?name=idle")).bulkheads.length).toBe(1);
  expect((await look("?name=export")).bulkheads).toMatchObject([{ name: "export", active: 1, queued: 1 }]);
  for (const name of ["nobody", "no%20name"]) {
    expect((await admin.request(`/-/bulkheads?name=${name}`)).status).toBe(404);
  }
});

test("the admin listener shows the first hundred in order, and how many come behind them", async () => {
  const { bulkheads, look, advance } = await start({ limits: { api: { max_concurrent: 120, max_wait: "1m" } } });
  const api = bulkheads.get("api");
  const held = await Promise.all(Array.from({ length: 120 }, () => api.acquire()));
  for (let i = 0; i < 130; i++) {
    void api.acquire({ weight: 1 + i % 2, owner: { id: `r${i}` } });
    await advance(1);
  }
  interface Shown {
    readonly held: unknown[];
    readonly held_more: number;
    readonly waiting: { readonly weight: number; readonly waited_ms: number; readonly request: string }[];
    readonly waiting_more: number;
  }
  const [shown] = (await look()).bulkheads as Shown[];
  expect([shown!.held.length, shown!.held_more, shown!.waiting.length, shown!.waiting_more]).toEqual([
    100,
    20,
    100,
    30,
  ]);
  expect(shown!.waiting).toEqual(
    Array.from({ length: 100 }, (_, i) => ({ weight: 1 + i % 2, waited_ms: 130 - i, request: `r${i}` })),
  );
  for (const permit of held) await permit.release();
});

describe("the log", () => {
  const refused = { max_concurrent: 1, max_wait: 0 };

  test("has a line for a refusal, with the reason, who it was, and how long that one waited", async () => {
    const { admit, logged, advance } = await start({ routes: [{ ...exports, max_wait: "1s" }] });
    admit(exchange("/export/a"));
    const x = exchange("/export/b");
    const second = admit(x) as Promise<Response>;
    await advance(1000);
    await second;
    expect(logged).toEqual([{
      level: "warn",
      message: "Refused at bulkhead export: timeout",
      fields: {
        bulkhead: "export",
        reason: "timeout",
        waited_ms: 1000,
        weight: 1,
        request: x.id,
        target: "/export/b",
      },
    }]);
  });

  test("has one line a second in a storm for each bulkhead and reason, and the number of the rest", async () => {
    const { bulkheads, logged, advance } = await start({ limits: { a: refused, b: refused } });
    await bulkheads.get("a").acquire();
    await bulkheads.get("b").acquire();
    for (let ms = 0; ms < 3000; ms++) {
      await bulkheads.get("a").tryAcquire();
      if (ms === 10) await bulkheads.get("b").tryAcquire();
      await advance(1);
    }
    const lines = logged.map(({ message, fields }) => [message, fields["left_out"]]);
    const again = "Refused at bulkhead a: full, 1000 times more";
    expect(lines).toEqual([
      ["Refused at bulkhead a: full", undefined],
      ["Refused at bulkhead b: full", undefined],
      ["Refused at bulkhead a: full, 999 times more", 999],
      [again, 1000],
      [again, 1000],
    ]);
    // A quiet second, and it begins anew.
    await advance(1000);
    await advance(1000);
    await bulkheads.get("a").tryAcquire();
    await bulkheads.get("a").tryAcquire();
    await advance(1000);
    expect(logged.slice(5).map(({ message }) => message)).toEqual([
      "Refused at bulkhead a: full",
      "Refused at bulkhead a: full, once more",
    ]);
  });

  test("has no line for who left, adds up keys and made-up names, and loses nothing at the end", async () => {
    const { bulkheads, logged, advance, hooks } = await start({ limits: { a: { max_concurrent: 1, max_wait: "1m" } } });
    const held = await bulkheads.get("a").acquire();
    const aborter = new AbortController();
    const left = bulkheads.get("a").acquire({ signal: aborter.signal }).catch(({ reason }) => reason);
    await advance(10);
    aborter.abort();
    expect([await left, logged]).toEqual(["cancelled", []]);
    const keyed = bulkheads.keyed("tenants", { maxConcurrent: 1 });
    for (const key of ["x", "y"]) {
      await keyed.for(key).acquire();
      await keyed.for(key).tryAcquire();
    }
    for (let i = 0; i < 600; i++) {
      const one = bulkheads.get(`n${i}`, { maxConcurrent: 1 });
      await one.acquire();
      await one.tryAcquire();
    }
    // The tenants, 499 names, and the first of the rest.
    expect(logged.length).toBe(501);
    await held.release();
    await hooks.onClose.handler();
    expect(logged.slice(501).map(({ fields }) => [fields["bulkhead"], fields["left_out"]])).toEqual([
      ["tenants", 1],
      ["_other", 100],
    ]);
  });
});
