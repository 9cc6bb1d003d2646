import { expect, test } from "bun:test";
import { Hono } from "hono";
import { createAdmin, type Identity } from "../../core/admin.ts";
import type { AdminGuard } from "../../core/admin_guard.ts";
import { CoreError } from "../../core/error.ts";
import { HealthBoard } from "../../core/health.ts";
import { ReloadBoard } from "../../core/reload_board.ts";
import { TestExchange } from "../support/exchange.ts";

const identity: Identity = {
  pid: 1,
  executable: "/bin/x",
  version: "0",
  runtime: "none",
  config_hash: "",
  started_at: "",
};

function admin(
  reload: () => Promise<void>,
  guard: AdminGuard = () => undefined,
  restart: () => Promise<number> = () => Promise.resolve(0),
) {
  const reloads = new ReloadBoard(() => {});
  reloads.register("part", reload);
  return createAdmin({ health: new HealthBoard(), reloads, identity, plugins: new Hono(), restart, guard, log() {} });
}

test("a reload is answered when it is done, part by part", async () => {
  const done = Promise.withResolvers<void>();
  let answered = false;
  const answer = Promise.resolve(admin(() => done.promise)(new TestExchange("/-/reload", { method: "POST" })));
  void answer.then(() => answered = true);
  await new Promise((resolve) => setTimeout(resolve, 0));
  expect(answered).toBe(false);
  done.reject(new Error("no such script"));
  expect(await (await answer).json()).toEqual({ reloaded: { part: "no such script" } });
});

test("a reload is for a POST that the guard lets pass", async () => {
  let runs = 0;
  const handle = admin(
    () => Promise.resolve(void runs++),
    (x) => x.headers.has("origin") ? new Response("no", { status: 403 }) : undefined,
  );
  const sent = async (method: string, headers = {}) =>
    (await handle(new TestExchange("/-/reload", { method, headers }))).status;
  expect([await sent("POST", { origin: "http://shop.example" }), await sent("GET"), runs]).toEqual([403, 404, 0]);
  expect([await sent("POST"), runs]).toEqual([200, 1]);
});

test("a restart is answered with the successor's pid, or with why there is none", async () => {
  const done = () => Promise.resolve(), pass = () => undefined;
  const post = (headers = {}) => new TestExchange("/-/restart", { method: "POST", headers });
  expect(await (await admin(done, pass, () => Promise.resolve(7))(post())).json()).toEqual({ successor: 7 });
  const refused = await admin(
    done,
    pass,
    () => Promise.reject(new CoreError("RESTART_BUSY", "A restart is under way")),
  )(
    post(),
  );
  expect([refused.status, await refused.json()]).toEqual([500, {
    error: "A restart is under way",
    code: "RESTART_BUSY",
  }]);
});

test("a restart is for a POST that the guard lets pass", async () => {
  let runs = 0;
  const guard: AdminGuard = (x) => x.headers.has("origin") ? new Response("no", { status: 403 }) : undefined;
  const handle = admin(() => Promise.resolve(), guard, () => Promise.resolve(runs++));
  const headers = { origin: "http://shop.example" };
  expect((await handle(new TestExchange("/-/restart", { method: "POST", headers }))).status).toBe(403);
  expect((await handle(new TestExchange("/-/restart"))).status).toBe(404);
  expect(runs).toBe(0);
});
