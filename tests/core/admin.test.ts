import { expect, test } from "bun:test";
import { Hono } from "hono";
import { createAdmin, type Identity } from "../../core/admin.ts";
import type { AdminGuard } from "../../core/admin_guard.ts";
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

function admin(reload: () => Promise<void>, guard: AdminGuard = () => undefined) {
  const reloads = new ReloadBoard(() => {});
  reloads.register("part", reload);
  return createAdmin({ health: new HealthBoard(), reloads, identity, plugins: new Hono(), guard, log() {} });
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
