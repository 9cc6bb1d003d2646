import { describe, expect, test } from "bun:test";
import { Hono } from "hono";
import { adminRoutes } from "../../../plugins/dbproxy/admin_routes.ts";
import { fakePool, fakeReport } from "./fake_report.ts";

function site(...names: string[]) {
  const app = new Hono();
  const report = fakeReport(...names);
  adminRoutes(app, report);
  const ask = async (path: string, method = "GET") => {
    const response = await app.request(path, { method });
    return { status: response.status, body: JSON.parse(await response.text()), headers: response.headers };
  };
  return { ask, report };
}

describe("/-/db/queries", () => {
  test("shows the top statements of every database, by time", async () => {
    const { status, body, headers } = await site("shop", "blog").ask("/-/db/queries");
    expect([status, headers.get("cache-control")]).toEqual([200, "no-store"]);
    expect(body.databases.map(({ name }: { name: string }) => name)).toEqual(["shop", "blog"]);
    const [shop] = body.databases;
    expect(shop).toMatchObject({ by: "time", digests: 3, total: { count: 6, time: 200 } });
    expect(shop.queries.map(({ text, time }: { text: string; time: number }) => [text, time])).toEqual([
      ["SELECT d0", 90],
      ["SELECT d1", 80],
      ["SELECT d2", 30],
    ]);
    expect(new Date(shop.since).getTime()).toBeGreaterThan(0);
  });

  test("orders, limits and picks a database", async () => {
    const { body } = await site("shop", "blog").ask("/-/db/queries?by=count&limit=1&db=blog");
    expect(body.databases).toHaveLength(1);
    expect(body.databases[0]).toMatchObject({ name: "blog", by: "count", queries: [{ hash: "d2", count: 3 }] });
  });

  test("says what it expected", async () => {
    const { ask } = site("shop", "blog");
    const wrong = async (query: string) => {
      const { status, body } = await ask(`/-/db/queries?${query}`);
      return `${status}: ${body.error}`;
    };
    expect(await wrong("by=cost")).toBe("400: expected by to be one of time, count, errors, rows, mean, max");
    for (const limit of ["0", "x", "1.5", "", "1e9"]) {
      expect(await wrong(`limit=${limit}`)).toBe("400: expected limit to be a whole number from 1 to 10000");
    }
    expect(await wrong("db=toString")).toBe("404: no such database; expected one of shop, blog");
  });

  test("can be reset, all or one, by POST only", async () => {
    const { ask, report } = site("shop", "blog");
    const counts = () => report.databases().map(({ digests }) => digests.total().count);
    expect((await ask("/-/db/queries/reset?db=none", "POST")).status).toBe(404);
    expect(counts()).toEqual([6, 6]);
    expect((await ask("/-/db/queries/reset?db=shop", "POST")).body.databases).toMatchObject([{ name: "shop" }]);
    expect(counts()).toEqual([0, 6]);
    await ask("/-/db/queries/reset", "POST");
    expect(counts()).toEqual([0, 0]);
  });
});

describe("/-/db/pool", () => {
  test("shows every pool", async () => {
    const { status, body } = await site("shop").ask("/-/db/pool");
    const { oldestWaitMs, ...pool } = fakePool;
    expect([status, body]).toEqual([200, { databases: [{ name: "shop", ...pool, oldest_wait_ms: oldestWaitMs }] }]);
  });
});
