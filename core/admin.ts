import { Hono } from "hono";
import type { HealthBoard } from "./health.ts";
import { answer, refuse } from "./http/answers.ts";
import type { BaseExchange } from "./http/exchange.ts";
import type { Awaitable, Log } from "./plugin.ts";

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

/** Makes the admin listener's handler: liveness, readiness, identity, and the routes that plugins added. */
export function createAdmin(
  health: HealthBoard,
  identity: Identity,
  plugins: Hono,
  log: Log,
): (x: BaseExchange) => Awaitable<Response> {
  const app = new Hono();
  app.get("/livez", (c) => c.text("ok\n"));
  app.get("/readyz", (c) => {
    const { ready, parts } = health.look();
    return c.json({ ready, parts }, ready ? 200 : 503);
  });
  app.get("/-/whoami", (c) => c.json(identity));
  app.route("/", plugins);
  app.notFound(() => answer(404));
  app.onError((error, c) => {
    log("error", "admin request failed", { path: c.req.path, error });
    return answer(500);
  });
  return (x) => x.problem === 0 ? app.fetch(x.request) : refuse(x.problem);
}
