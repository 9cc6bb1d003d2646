import { expect, test } from "bun:test";
import { Bulkhead, BulkheadDenied, createBulkheads, KeyedBulkhead } from "../../mod.ts";

test("bulkheads without a server: limits by name, in order of arrival, closed at the end", async () => {
  const bulkheads = createBulkheads({ limits: { api: { maxConcurrent: 1, maxWait: 5000 } } });
  const order: number[] = [];
  await Promise.all([1, 2, 3].map((n) =>
    bulkheads.get("api").call(async () => {
      await Promise.resolve();
      order.push(n);
    })
  ));
  expect(order).toEqual([1, 2, 3]);
  const held = await bulkheads.get("api").acquire();
  const waits = bulkheads.get("api").acquire().catch((error) => error);
  await bulkheads.close();
  const error = await waits;
  expect(error).toBeInstanceOf(BulkheadDenied);
  expect(error.code).toBe("BULKHEAD_DRAINING");
  expect(await held.release()).toBe(true);
});

test("the classes take any store", async () => {
  const { store } = createBulkheads();
  const one = new Bulkhead({ name: "a", maxConcurrent: 1, store });
  const each = new KeyedBulkhead({ name: "b", maxConcurrent: 1, store });
  await using _ = await one.acquire();
  expect(await new Bulkhead({ name: "a", maxConcurrent: 1, store }).tryAcquire()).toBe(undefined);
  expect(await each.for("k").call(() => "ran")).toBe("ran");
});

test("a wait ends in real time", async () => {
  const bulkhead = createBulkheads().get("a", { maxConcurrent: 1, maxWait: 30 });
  const held = await bulkhead.acquire();
  // A timer that does not keep the process alive needs something that does.
  const alive = setInterval(() => {}, 1000);
  const error = await bulkhead.acquire().catch((error) => error);
  clearInterval(alive);
  expect(error.code).toBe("BULKHEAD_TIMEOUT");
  expect(error.waitedMs).toBeGreaterThanOrEqual(29);
  await held.release();
});
