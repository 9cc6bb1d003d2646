import { expect, test } from "bun:test";
import { RedisStore } from "../../../plugins/bulkhead/redis/redis_store.ts";
import { VirtualClock } from "../../admission/virtual_clock.ts";

/** Lets promises that are settled be heard. */
const flush = () => new Promise<void>((done) => setImmediate(done));

test("why Redis is not reached is told: once for each reason, and in what readiness says", async () => {
  const clock = new VirtualClock();
  const told: unknown[] = [];
  let refuse: unknown = new Error("WRONGPASS invalid username-password pair");
  const store = new RedisStore({
    dial: () => Promise.reject(refuse),
    clock,
    random: () => 0,
    log: (level, message, fields) => void told.push([level, message, fields?.["cause"]]),
  });
  const warned = (cause: string) => ["warn", "Cannot connect to Redis for bulkheads; trying again", cause];
  await store.start();
  expect(store.problem).toBe("Redis is not reached: WRONGPASS invalid username-password pair");
  for (let i = 0; i < 20; i++) {
    clock.advance(1000);
    await flush();
  }
  expect(told).toEqual([warned("WRONGPASS invalid username-password pair")]);
  // Some errors of the runtimes have a code and no text.
  refuse = Object.assign(new Error(""), { code: "ECONNREFUSED" });
  clock.advance(1000);
  await flush();
  expect(told.slice(1)).toEqual([warned("ECONNREFUSED")]);
  expect(store.problem).toBe("Redis is not reached: ECONNREFUSED");
  await store.close();
  const before = told.length;
  clock.advance(5000);
  await flush();
  expect(told.length).toBe(before);
});
