import type { Hono } from "hono";
import { type BulkheadView, inspectable } from "./inspect.ts";
import type { Limits } from "./limits.ts";
import type { BulkheadStore } from "./store.ts";

/** Holders and waiters that are shown of one bulkhead, and bulkheads that are shown. */
const mostPeople = 100, mostBulkheads = 1000;

/**
 * Adds `GET /-/bulkheads?name=NAME` to the admin listener: what each bulkhead has out and in line, and who they are, in JSON; the
 * configured ones always, and at most the first hundred holders and waiters of each.
 */
export function adminRoutes(app: Hono, store: BulkheadStore, limits: Limits): void {
  app.get("/-/bulkheads", async (c) => {
    const wanted = c.req.query("name");
    const shown = new Map<string, unknown>();
    if (inspectable(store)) {
      for (const view of await store.look()) {
        if (shown.size >= mostBulkheads) break;
        if (wanted === undefined || view.name === wanted) shown.set(view.name, show(view));
      }
    }
    for (const name of wanted === undefined ? Array.from(limits, ([known]) => known) : [wanted]) {
      if (shown.has(name)) continue;
      const counts = await store.counts(name);
      if (counts !== undefined) shown.set(name, show({ name, ...counts, held: [], line: [] }));
    }
    c.header("cache-control", "no-store");
    if (wanted !== undefined && shown.size === 0) return c.json({ error: "no such bulkhead is known" }, 404);
    return c.json({ store: store.kind, bulkheads: [...shown.values()] });
  });
}

function show({ name, limit, active, holders, queued, oldestWaitMs, held, line }: BulkheadView): unknown {
  return {
    name,
    limit,
    active,
    holders,
    queued,
    oldest_wait_ms: Math.round(oldestWaitMs),
    held: held.slice(0, mostPeople).map(({ weight, fence, heldMs, owner }) => ({
      weight,
      fence,
      held_ms: Math.round(heldMs),
      ...describe(owner),
    })),
    waiting: line.slice(0, mostPeople).map(({ weight, waitedMs, owner }) => ({
      weight,
      waited_ms: Math.round(waitedMs),
      ...describe(owner),
    })),
  };
}

/** What is known of an owner: the id and the target of its HTTP request, and its process, as far as it has them. */
function describe(owner: object | undefined): Readonly<Record<string, string | number>> {
  const { id, target, pid } = (owner ?? {}) as Readonly<Record<string, unknown>>;
  return {
    ...(typeof id === "string" ? { request: id } : undefined),
    ...(typeof target === "string" ? { target } : undefined),
    ...(typeof pid === "number" ? { pid } : undefined),
  };
}
