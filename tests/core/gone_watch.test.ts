import { expect, test } from "bun:test";
import { GoneWatch } from "../../core/http/gone_watch.ts";

/** Waits until something holds: for real timers, whose moment is not ours. */
async function until(holds: () => boolean): Promise<void> {
  for (const end = performance.now() + 5000; !holds();) {
    if (performance.now() > end) throw new Error("it never came to hold");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

test("who leaves is told of once, who was taken back or stays is not", async () => {
  const watch = new GoneWatch();
  const leaves = new AbortController(), stays = new AbortController(), taken = new AbortController();
  const told: string[] = [];
  watch.add(leaves, () => void told.push("leaves"));
  watch.add(stays, () => void told.push("stays"));
  watch.add(taken, () => void told.push("taken"))();
  leaves.abort();
  taken.abort();
  await until(() => told.length > 0);
  watch.add(taken, () => void told.push("late"));
  await until(() => told.length > 1);
  expect(told).toEqual(["leaves", "late"]);
});
