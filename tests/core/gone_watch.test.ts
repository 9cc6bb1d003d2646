import { expect, test } from "bun:test";
import { GoneWatch } from "../../core/http/gone_watch.ts";
import { waitFor } from "../support/wait.ts";

test("who leaves is told of once, who was taken back or stays is not", async () => {
  const watch = new GoneWatch();
  const leaves = new AbortController(), stays = new AbortController(), taken = new AbortController();
  const told: string[] = [];
  watch.add(leaves, () => void told.push("leaves"));
  watch.add(stays, () => void told.push("stays"));
  watch.add(taken, () => void told.push("taken"))();
  leaves.abort();
  taken.abort();
  await waitFor(() => told.length > 0, { what: "the first to be told of", every: 5 });
  watch.add(taken, () => void told.push("late"));
  await waitFor(() => told.length > 1, { what: "the second to be told of", every: 5 });
  expect(told).toEqual(["leaves", "late"]);
});
