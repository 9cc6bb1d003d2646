import { Hono } from "hono";
import type { AdminGuard } from "./admin_guard.ts";
import type { Health } from "./contracts/health.ts";
import type { Reloads } from "./contracts/reloads.ts";
import { CoreError } from "./error.ts";
import { answer, refuse } from "./http/answers.ts";
import type { BaseExchange } from "./http/exchange.ts";
import type { Awaitable, Log } from "./plugin.ts";
import { canonicalRequest } from "./routes.ts";

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

/** What the admin listener tells, and of whom. */
export interface AdminOptions {
  readonly health: Health;
  readonly reloads: Reloads;
  readonly identity: Identity;
  /** The routes that plugins added. */
  readonly plugins: Hono;
  /** Starts a successor; resolves with its pid when that serves. */
  restart(): Promise<number>;
  readonly guard: AdminGuard;
  readonly log: Log;
}

/** Makes the admin listener's handler: liveness, readiness, identity, and the routes that plugins added. */
export function createAdmin(
  { health, reloads, identity, plugins, restart, guard, log }: AdminOptions,
): (x: BaseExchange) => Awaitable<Response> {
  const app = new Hono();
  app.get("/livez", (c) => c.text("ok\n"));
  app.get("/readyz", (c) => {
    const { ready, parts } = health.look();
    return c.json({ ready, parts }, ready ? 200 : 503);
  });
  app.get("/-/whoami", (c) => c.json(identity));
  app.post("/-/reload", () =>
    slowJson(
      reloads.run().then((result) => ({
        reloaded: Object.fromEntries(Object.entries(result).map(([part, why]) => [part, why ?? "ok"])),
      })),
      ({ reloaded }) => Object.values(reloaded).every((outcome) => outcome === "ok") ? 200 : 500,
    ));
  app.post("/-/restart", () => {
    const outcome = restart().then(
      (successor) => ({ successor }),
      (error) => ({ error: error instanceof CoreError ? error.message : String(error), code: error?.code }),
    );
    return slowJson<object>(outcome, (told) => "successor" in told ? 200 : 500);
  });
  app.route("/", plugins);
  app.notFound(() => answer(404));
  app.onError((error, c) => {
    log("error", "admin request failed", { path: c.req.path, error });
    return answer(500);
  });
  return (x) => x.problem === 0 ? guard(x) ?? app.fetch(canonicalRequest(x)) : refuse(x.problem);
}

/** How often (ms) a connection whose answer is not ready gets a sign of life: shorter than any idle time. */
const signEvery = 5000;

/**
 * JSON that may take minutes: then with white space ahead of it, so that nobody takes the connection for a dead one. `status` is that
 * of what came in time; what comes later can only say of itself how it went.
 */
async function slowJson<T>(result: Promise<T>, status: (value: T) => number): Promise<Response> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const slow = new Promise<undefined>((resolve) => timer = setTimeout(() => resolve(undefined), signEvery));
  const first = await Promise.race([result, slow]);
  clearTimeout(timer);
  const headers = { "content-type": "application/json" };
  if (first !== undefined) return new Response(JSON.stringify(first), { headers, status: status(first) });

  const encoder = new TextEncoder();
  let signs: ReturnType<typeof setInterval> | undefined, left = false;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      signs = setInterval(() => controller.enqueue(encoder.encode(" ")), signEvery);
      controller.enqueue(encoder.encode(" "));
      void result.then((value) => {
        clearInterval(signs);
        if (left) return;
        controller.enqueue(encoder.encode(JSON.stringify(value)));
        controller.close();
      });
    },
    cancel() {
      left = true;
      clearInterval(signs);
    },
  });
  return new Response(body, { headers });
}
