import { expect, test } from "bun:test";
import { Hono } from "hono";
import { adminRoutes } from "../../../plugins/bulkhead/admin_routes.ts";
import { Limits } from "../../../plugins/bulkhead/limits.ts";
import { dialRedis } from "../../../plugins/bulkhead/redis/dial.ts";
import { RedisStore } from "../../../plugins/bulkhead/redis/redis_store.ts";
import { allowSlowTests, waitFor } from "../../support/wait.ts";
import { ask, granted } from "../conformance.ts";
import { RedisServer, serverAbsent } from "./server.ts";

allowSlowTests(60_000);

if (serverAbsent("redis") === undefined) {
  test("the admin listener shows who holds and who waits on this host, and how many on others", async () => {
    const server = await RedisServer.start();
    const [here, there] = [1, 2].map(() => new RedisStore({ dial: dialRedis({ url: server.url }) }));
    try {
      await Promise.all([here!.start(), there!.start()]);
      const own = granted(await here!.acquire(ask({ owner: { id: "r1", target: "/a" } })));
      const far = granted(await there!.acquire(ask()));
      const waits = [];
      for (const [i, store] of [here!, there!, here!].entries()) {
        waits.push(store.acquire(ask({ maxWaitMs: 5000, owner: { pid: 100 + i } })));
        await waitFor(async () => (await here!.counts("b"))?.queued === i + 1, { what: `${i + 1} in line`, every: 2 });
      }
      const app = new Hono();
      adminRoutes(app, here!, new Limits());
      const shown = await (await app.request("/-/bulkheads")).json();
      expect(shown).toMatchObject({
        store: "redis",
        bulkheads: [{
          name: "b",
          limit: 2,
          active: 2,
          queued: 3,
          held: [{ weight: 1, fence: own.fence, held_ms: expect.any(Number), request: "r1", target: "/a" }],
          held_more: 1,
          waiting: [{ waited_ms: expect.any(Number), pid: 100 }, { pid: 102 }],
          waiting_more: 1,
        }],
      });
      granted(await here!.acquire(ask({ name: "c" })));
      const one = async (name: string) => await (await app.request(`/-/bulkheads?name=${name}`)).json();
      expect(await one("b")).toMatchObject({ bulkheads: [{ name: "b", queued: 3 }] });
      expect(await one("c")).toMatchObject({ bulkheads: [{ name: "c", active: 1 }] });
      // Of the others nothing is asked for it.
      for (const name of ["b", "c"]) expect(Array.from(await here!.look(name), (view) => view.name)).toEqual([name]);
      expect(Array.from(await here!.look("d"))).toEqual([]);
      expect((await app.request("/-/bulkheads?name=no%20name")).status).toBe(404);
      await own.release();
      await far.release();
      for (const wait of waits) await granted(await wait).release();
    } finally {
      await Promise.all([here!.close(), there!.close()]);
      await server.stop();
    }
  });
}
