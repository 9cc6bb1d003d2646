import { type BulkheadView, viewed } from "../inspect.ts";
import type { BulkheadCounts } from "../store.ts";
import type { Lane } from "./lane.ts";

/** A lane as operators are shown it: the counts of all hosts, and the people of this one. */
export function laneView(lane: Lane, counts: BulkheadCounts): BulkheadView {
  const now = lane.now();
  return {
    name: lane.name,
    ...counts,
    held: viewed(lane.held.values(), ({ weight, fence, since, owner }) => ({
      weight,
      fence,
      heldMs: now - since,
      owner: owner?.self,
    })),
    line: viewed(lane.waiters.values(), ({ weight, since, ask }) => ({
      weight,
      waitedMs: now - since,
      owner: ask.owner,
    })),
  };
}
