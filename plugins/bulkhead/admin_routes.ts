import type { Hono } from "hono";
import { describeOwner } from "./describe_owner.ts";
import { type BulkheadView, inspectable } from "./inspect.ts";
import type { Limits } from "./limits.ts";
import { isName } from "./name.ts";
import type { BulkheadStore } from "./store.ts";

/** Holders and waiters that are shown of one bulkhead, and bulkheads that are shown. */
const mostPeople = 100, mostBulkheads = 1000;

/**
 * Adds `GET /-/bulkheads?name=NAME` to the admin listener: what each bulkhead has out and in line, and who they are, in JSON; the
 * configured ones always, and the first hundred holders and waiters of each with the number of the rest. Between hosts that share
 * their permits each shows its own people; those of the others are among the rest.
 */
export function adminRoutes(app: Hono, store: BulkheadStore, limits: Limits): void {
  app.get("/-/bulkheads", async (c) => {
    const wanted = c.req.query("name");
    const shown = new Map<string, unknown>();
    if (inspectable(store)) {
      for (const view of await store.look(wanted)) {
        if (shown.size >= mostBulkheads) break;
        shown.set(view.name, show(view));
      }
    }
    for (const name of wanted === undefined ? Array.from(limits, ([known]) => known) : [wanted]) {
      if (shown.has(name) || !isName(name)) continue;
      const counts = await store.counts(name);
      if (counts !== undefined) shown.set(name, show({ name, ...counts, held: [], line: [] }));
    }
    c.header("cache-control", "no-store");
    if (wanted !== undefined && shown.size === 0) return c.json({ error: "no such bulkhead is known" }, 404);
    return c.json({ store: store.kind, bulkheads: [...shown.values()] });
  });
}

function show({ name, limit, active, holders, queued, oldestWaitMs, held, line }: BulkheadView): unknown {
  const shownHeld = first(held, ({ weight, fence, heldMs, owner }) => ({
    weight,
    fence,
    held_ms: Math.round(heldMs),
    ...describeOwner(owner),
  }));
  const shownLine = first(line, ({ weight, waitedMs, owner }) => ({
    weight,
    waited_ms: Math.round(waitedMs),
    ...describeOwner(owner),
  }));
  return {
    name,
    limit,
    active,
    holders,
    queued,
    oldest_wait_ms: Math.round(oldestWaitMs),
    held: shownHeld,
    held_more: Math.max(holders - shownHeld.length, 0),
    waiting: shownLine,
    waiting_more: Math.max(queued - shownLine.length, 0),
  };
}

/** The first of them, and no more of them looked at. */
function first<T>(all: Iterable<T>, show: (one: T) => unknown): readonly unknown[] {
  const shown: unknown[] = [];
  for (const one of all) {
    if (shown.length === mostPeople) break;
    shown.push(show(one));
  }
  return shown;
}
