import { expect, test } from "bun:test";
import { Hono } from "hono";
import { createAdmin, type Identity } from "../../core/admin.ts";
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

function admin(reload: () => Promise<void>, restart = () => Promise.resolve(0)) {
  const reloads = new ReloadBoard(() => {});
  reloads.register("part", reload);
  return createAdmin(new HealthBoard(), reloads, identity, new Hono(), () => {}, restart);
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

test("a browser's POST reloads nothing", async () => {
  let runs = 0;
  const handle = admin(() => Promise.resolve(void runs++));
  for (const headers of [{ origin: "http://shop.example" }, { "sec-fetch-site": "same-origin" }] as const) {
    expect((await handle(new TestExchange("/-/reload", { method: "POST", headers: { ...headers } }))).status).toBe(403);
  }
  expect((await handle(new TestExchange("/-/reload"))).status).toBe(404);
  expect(runs).toBe(0);
  expect((await handle(new TestExchange("/-/reload", { method: "POST" }))).status).toBe(200);
  expect(runs).toBe(1);
});

test("a restart is answered with the successor's pid, or with why there is none", async () => {
  const done = () => Promise.resolve();
  const post = (headers = {}) => new TestExchange("/-/restart", { method: "POST", headers });
  expect(await (await admin(done, () => Promise.resolve(7))(post())).json()).toEqual({ successor: 7 });
  const refused = await admin(done, () => Promise.reject(new CoreError("RESTART_BUSY", "A restart is under way")))(
    post(),
  );
  expect([refused.status, await refused.json()]).toEqual([500, {
    error: "A restart is under way",
    code: "RESTART_BUSY",
  }]);
});

test("a browser's POST restarts nothing", async () => {
  let runs = 0;
  const handle = admin(() => Promise.resolve(), () => Promise.resolve(runs++));
  const headers = { origin: "http://shop.example" };
  expect((await handle(new TestExchange("/-/restart", { method: "POST", headers }))).status).toBe(403);
  expect((await handle(new TestExchange("/-/restart"))).status).toBe(404);
  expect(runs).toBe(0);
});
