import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { dialRedis } from "../../../plugins/bulkhead/redis/dial.ts";
import { RedisStore } from "../../../plugins/bulkhead/redis/redis_store.ts";
import type { BulkheadAnswer, BulkheadGrant } from "../../../plugins/bulkhead/store.ts";
import { allowSlowTests, waitFor, within } from "../../support/wait.ts";
import { ask, granted } from "../conformance.ts";
import { testMemory, ticks } from "../memory.ts";
import { RedisServer, serverAbsent } from "./server.ts";

allowSlowTests(60_000);

if (serverAbsent("redis") === undefined) {
  describe("circles of waits on Redis", () => {
    let server: RedisServer;
    let count = 0;
    const stores: RedisStore[] = [];
    beforeAll(async () => {
      server = await RedisServer.start();
    });
    afterAll(async () => {
      await Promise.all(stores.map((store) => store.close()));
      await server.stop();
    });

    /** Two hosts with the same permits. */
    async function hosts(): Promise<readonly [RedisStore, RedisStore]> {
      const prefix = `c${count++}:`;
      const [one, two] = [1, 2].map(() => new RedisStore({ dial: dialRedis({ url: server.url }), prefix, tick: 100 }));
      stores.push(one!, two!);
      await Promise.all([one!.start(), two!.start()]);
      return [one!, two!];
    }
    const one = (name: string, owner: object, maxWaitMs = 5000) =>
      ask({ name, limit: 1, owner, maxWaitMs, leaseMs: 5000 });
    const queued = (store: RedisStore, name: string, count: number) =>
      waitFor(async () => (await store.counts(name))?.queued === count, { what: `${count} in line`, every: 2 });

    test("are found when all of it is asked at the same moment: one is told, the other goes on", async () => {
      const [store] = await hosts();
      for (let round = 0; round < 20; round++) {
        const [a, b] = [{ id: "a" }, { id: "b" }];
        const x = granted(await store.acquire(one("x", a)));
        const y = granted(await store.acquire(one("y", b)));
        const [forY, forX] = [store.acquire(one("y", a)), store.acquire(one("x", b))];
        const first = await within(20_000, "the circle", Promise.race([forY, forX]));
        expect(first).toMatchObject({ granted: false, reason: "deadlock" });
        // Whoever was told gives up what it holds.
        const [loser, winner] = first === await Promise.race([forY, Promise.resolve(undefined)])
          ? [x, forX]
          : [y, forY];
        await loser.release();
        const won = granted(await winner);
        for (const grant of [won, x, y]) await grant.release();
        for (const name of ["x", "y"]) expect(await store.counts(name)).toMatchObject({ active: 0, queued: 0 });
      }
    });

    test("through another host are not seen, and end with their time", async () => {
      const [here, there] = await hosts();
      const [a, b] = [{ id: "a" }, { id: "b" }];
      const x = granted(await here.acquire(one("x", a)));
      const y = granted(await there.acquire(one("y", b)));
      const forY = here.acquire(one("y", a, 300));
      await queued(here, "y", 1);
      expect(await there.acquire(one("x", b, 100))).toMatchObject({ granted: false, reason: "timeout" });
      expect(await forY).toMatchObject({ granted: false, reason: "timeout" });
      for (const grant of [x, y]) await grant.release();
    });

    test("are none where another host has a permit that can come back", async () => {
      const [here, there] = await hosts();
      const [a, b] = [{ id: "a" }, { id: "b" }];
      const two = (owner: object) => ({ ...one("x", owner), limit: 2 });
      const x = granted(await here.acquire(two(a)));
      const far = granted(await there.acquire(two({})));
      const y = granted(await here.acquire(one("y", b)));
      const forY = here.acquire(one("y", a));
      await queued(here, "y", 1);
      const forX = here.acquire(two(b));
      await queued(here, "x", 1);
      await far.release();
      const got = granted(await forX);
      for (const grant of [got, y]) await grant.release();
      const last = granted(await forY);
      for (const grant of [last, x]) await grant.release();
    });

    test("are the same as in the memory of one process, whatever was asked and given back before", async () => {
      const [store] = await hosts();
      const { store: model } = testMemory();
      let seed = 20;
      const random = (below: number) => ((seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0) >>> 8) % below;
      const owners = Array.from({ length: 4 }, (_, id) => ({ id }));
      const limits: Readonly<Record<string, number>> = { x: 1, y: 2, z: 3 };
      const names = Object.keys(limits);
      interface Pair {
        readonly owner: object;
        readonly model: BulkheadGrant;
        readonly real: BulkheadGrant;
      }
      let held: Pair[] = [];
      const waiting = new Map<object, Promise<readonly [BulkheadAnswer, BulkheadAnswer]>>();
      const letIn = new Set<object>();
      const outcomes = { granted: 0, queued: 0, deadlock: 0 };
      /** Takes the permits of those whom the model has let in meanwhile, in both. */
      const settle = async () => {
        await ticks();
        for (const owner of letIn) {
          const [expected, real] = await within(20_000, "the same grant", waiting.get(owner)!);
          waiting.delete(owner);
          held.push({ owner, model: granted(expected), real: granted(real) });
        }
        letIn.clear();
      };
      for (const name of names) granted(await model.acquire(ask({ name, limit: limits[name]! }))).release();

      for (let step = 0; step < 400; step++) {
        const owner = owners[random(4)]!;
        if (waiting.has(owner)) continue;
        if (random(3) === 0) {
          const mine = held.filter((pair) => pair.owner === owner);
          held = held.filter((pair) => pair.owner !== owner);
          for (const pair of mine) {
            pair.model.release();
            await pair.real.release();
          }
          await settle();
          continue;
        }
        const name = names[random(3)]!;
        const want = ask({ name, limit: limits[name]!, weight: 1 + random(limits[name]!), owner, maxWaitMs: 30_000 });
        const [expected, real] = [model.acquire(want), store.acquire({ ...want, leaseMs: 30_000 })];
        if (expected instanceof Promise) {
          outcomes.queued++;
          await queued(store, name, model.counts(name)!.queued);
          void expected.then(() => letIn.add(owner));
          waiting.set(owner, Promise.all([expected, real]));
        } else {
          const answer = await within(20_000, "an answer", real);
          const told = (one: BulkheadAnswer) => one.granted ? "granted" : one.reason;
          expect([step, told(answer)]).toEqual([step, told(expected as BulkheadAnswer)]);
          outcomes[told(answer) as "granted"]++;
          if (answer.granted) held.push({ owner, model: granted(expected as BulkheadAnswer), real: answer });
        }
      }
      expect(outcomes.granted).toBeGreaterThan(20);
      expect(outcomes.queued).toBeGreaterThan(10);
      expect(outcomes.deadlock).toBeGreaterThan(10);
    });
  });
}
