import type { Context, Hono } from "hono";
import { digestOrders } from "./stats/digests.ts";
import type { DatabaseReport, DbReport } from "./stats/report.ts";

/** Rows of `/-/db/queries` when it is not told how many, and the most it shows. */
const usualLimit = 20, mostLimit = 10_000;

/**
 * Adds to the admin listener, all in JSON, each for all databases or the one named by `?db=`:
 *
 * - `GET /-/db/queries?by=time&limit=20`: the top statements by time, count, errors, rows, mean or max
 * - `POST /-/db/queries/reset`: forgets them
 * - `GET /-/db/pool`: clients and connections now
 */
export function adminRoutes(app: Hono, report: DbReport): void {
  app.get("/-/db/queries", (c) => {
    const by = digestOrders.find((order) => order === (c.req.query("by") ?? "time"));
    if (by === undefined) return refuse(c, 400, `expected by to be one of ${digestOrders.join(", ")}`);
    const limit = Number(c.req.query("limit") ?? usualLimit);
    if (!Number.isInteger(limit) || limit < 1 || limit > mostLimit) {
      return refuse(c, 400, `expected limit to be a whole number from 1 to ${mostLimit}`);
    }
    return each(c, report, ({ name, digests }) => ({
      name,
      since: new Date(digests.since).toISOString(),
      by,
      digests: digests.size,
      total: digests.total(),
      queries: digests.top({ by, limit }),
    }));
  });
  app.post("/-/db/queries/reset", (c) =>
    each(c, report, ({ name, digests }) => {
      digests.reset();
      return { name, since: new Date(digests.since).toISOString() };
    }));
  app.get("/-/db/pool", (c) =>
    each(c, report, (db) => {
      const { oldestWaitMs, ...pool } = db.pool();
      return { name: db.name, ...pool, oldest_wait_ms: oldestWaitMs };
    }));
}

/** Answers with what `show` makes of each database, or of the one asked for. */
function each(c: Context, report: DbReport, show: (db: DatabaseReport) => unknown): Response {
  const all = report.databases();
  const wanted = c.req.query("db");
  const chosen = wanted === undefined ? all : all.filter(({ name }) => name === wanted);
  if (wanted !== undefined && chosen.length === 0) {
    return refuse(c, 404, `no such database; expected one of ${all.map(({ name }) => name).join(", ")}`);
  }
  c.header("cache-control", "no-store");
  return c.json({ databases: chosen.map(show) });
}

function refuse(c: Context, status: 400 | 404, error: string): Response {
  return c.json({ error }, status);
}
