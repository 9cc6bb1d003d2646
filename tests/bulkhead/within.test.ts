import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import type { Permit } from "../../core/plugin.ts";
import { acquireWithin } from "../../plugins/bulkhead/within.ts";
import { ask } from "./conformance.ts";
import { testMemory, ticks } from "./memory.ts";
import { exchange, start } from "./started.ts";

/** Requests of a tenant. */
const of = (tenant: string) => exchange("/api", { headers: { "x-tenant": tenant } });
const route = { path: "/api", name: "api", key: "header:X-Tenant", within: "all" };

/** A server whose tenants have `own` permits each of the `all` that there are. */
const shared = (own: number, all: number) =>
  start({
    limits: { all: { max_concurrent: all } },
    routes: [{ ...route, max_concurrent: own, max_wait: "10m" }],
  });

describe("keys that share a cap", () => {
  test("get the same number of permits while all of them wait, however many of each do", async () => {
    const few = fc.integer({ min: 1, max: 4 });
    await fc.assert(
      fc.asyncProperty(few, few, fc.integer({ min: 2, max: 4 }), async (own, all, tenants) => {
        const { admit } = await shared(own, all);
        const served = Array.from({ length: tenants }, () => 0);
        const running: Permit[] = [];
        const one = async (tenant: number) => {
          const permit = await admit(of(`t${tenant}`)) as Permit;
          served[tenant]!++;
          running.push(permit);
        };
        // The first is there before the others, and has many more.
        for (let tenant = 0; tenant < tenants; tenant++) for (let i = 0; i < 60 >> tenant; i++) void one(tenant);
        await ticks();
        let most = 0;
        const fewest = 60 >> (tenants - 1);
        while (Math.min(...served) < fewest - own && running.length > 0) {
          most = Math.max(most, running.length);
          running.shift()!.release();
          await ticks();
          // Those who came before the others had come are what a key may be ahead by.
          expect(Math.max(...served) - Math.min(...served)).toBeLessThanOrEqual(2 * own);
        }
        expect(Math.min(...served)).toBe(fewest - own);
        expect(most).toBe(Math.min(all, own * tenants));
      }),
      { numRuns: 40 },
    );
  });

  test("let a newcomer in behind no more of another than that one may have", async () => {
    const { admit } = await shared(2, 1);
    const first = await admit(of("hog")) as Permit;
    const hog = Array.from({ length: 500 }, () => admit(of("hog")) as Promise<Permit>);
    const newcomer = admit(of("small")) as Promise<Permit>;
    const order: string[] = [];
    for (const [name, wait] of [["hog", hog[0]], ["hog", hog[1]], ["small", newcomer]] as const) {
      void wait!.then(() => order.push(name));
    }
    first.release();
    await ticks();
    (await hog[0])!.release();
    await ticks();
    expect(order).toEqual(["hog", "small"]);
  });

  test("are told of their own cap with 429 and of the shared one with 503, within one wait", async () => {
    const { admit, advance, look } = await start({
      limits: { all: { max_concurrent: 2 } },
      routes: [{ ...route, max_concurrent: 1, max_wait: "1s" }],
    });
    const permits = [await admit(of("a")), await admit(of("b"))] as Permit[];
    const own = admit(of("a")) as Promise<Response>;
    const around = admit(of("c")) as Promise<Response>;
    await advance(1000);
    expect([(await own).status, (await around).status]).toEqual([429, 503]);
    // Its time at its own line counts for the other one.
    const second = admit(of("a")) as Promise<Response>;
    await advance(600);
    const third = admit(of("d")) as Promise<Response>;
    permits[0]!.release();
    await advance(399);
    (await third as unknown as Permit).release();
    (await second as unknown as Permit).release();
    permits[1]!.release();
    expect((await look()).bulkheads).toMatchObject(
      ["all", "api/a", "api/b", "api/c", "api/d"].map(() => ({ active: 0, queued: 0 })),
    );
  });

  test("lose nothing of who leaves in either line", async () => {
    const { admit, look } = await shared(1, 1);
    const permit = await admit(of("a")) as Permit;
    for (const tenant of ["a", "b"]) {
      const x = of(tenant);
      const waits = admit(x) as Promise<Response>;
      await ticks();
      x.leave();
      expect((await waits).status).toBe(499);
    }
    permit.release();
    expect((await look()).bulkheads).toMatchObject(["all", "api/a", "api/b"].map(() => ({ active: 0, queued: 0 })));
  });

  test("have their own permits back where the other bulkhead cannot be asked", async () => {
    const { store } = testMemory();
    const asking = () => acquireWithin(store, ask({ name: "b/a", limit: 2, weight: 2 }), { name: "all", limit: 1 });
    expect(asking).toThrow("Expected a weight from 1 to 1");
    expect(store.counts("b/a")).toMatchObject({ active: 0 });
  });
});
