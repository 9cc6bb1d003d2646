import { expect, test } from "bun:test";
import { World } from "./world.ts";

test("a deadline is found out only when there is a wait, and ends it before the pool's own timeout", async () => {
  const world = new World({ maxConnections: 1, poolTimeoutMs: 5000 });
  const first = world.ask();
  await world.connect();
  world.release(first);
  let looked = 0;
  const refused: string[] = [];
  const who = {
    get deadline() {
      looked++;
      return 300;
    },
    onBackend() {},
    onRefuse: (error: { readonly code: string }) => void refused.push(error.code),
  };
  world.pool.checkout("a", who);
  expect(looked).toBe(0);
  world.pool.checkout("a", who);
  expect(looked).toBeGreaterThan(0);
  world.clock.advance(299);
  expect(refused).toEqual([]);
  world.clock.advance(1);
  expect(refused).toEqual(["DB_POOL_TIMEOUT"]);
});
