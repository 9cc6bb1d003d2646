import { Hono } from "hono";
import type { HealthBoard } from "./health.ts";

/** Who this process is: what a benchmark or a deploy checks before it believes an answer. */
export interface Identity {
  readonly pid: number;
  readonly executable: string;
  readonly version: string;
  readonly runtime: string;
  /** SHA-256 of the effective configuration, secrets included. */
  readonly config_hash: string;
  readonly started_at: string;
}

/** Builds the admin application: liveness, readiness, identity, and the routes that plugins added. */
export function createAdmin(health: HealthBoard, identity: Identity, plugins: Hono): Hono {
  const app = new Hono();
  app.get("/livez", (c) => c.text("ok\n"));
  app.get("/readyz", (c) => {
    const { ready, parts } = health.look();
    return c.json({ ready, parts }, ready ? 200 : 503);
  });
  app.get("/-/whoami", (c) => c.json(identity));
  app.route("/", plugins);
  app.notFound((c) => c.text("404 Not Found\n", 404));
  return app;
}
