import { describe, expect, test } from "bun:test";
import { Hono } from "hono";
import { compress } from "hono/compress";
import { etag } from "hono/etag";
import { streamSSE } from "hono/streaming";
import { fairAdmission } from "../../plugins/admission/fair_admission.ts";
import { FairGate } from "../../plugins/admission/fair_gate.ts";
import { turns } from "../support/wait.ts";
import { HandMade, watch } from "./bodies.ts";
import { VirtualClock } from "./virtual_clock.ts";

function world(limit = 1) {
  const clock = new VirtualClock();
  const gate = new FairGate({ limit, grace: 1000, clock });
  const app = new Hono();
  const made = new HandMade();
  app.use("/*", fairAdmission({ gate, clock }));
  app.get("/text", (c) => c.text("hello", 200, { "x-own": "1" }));
  app.get("/json", (c) => c.json({ used: gate.used }));
  app.get("/stream", (c) => c.body(made.stream));
  app.get("/throws", () => {
    throw new Error("broken");
  });
  app.onError((error, c) => c.text(error.message, 500));
  return { clock, gate, app, made };
}

describe("fairAdmission", () => {
  test("holds a permit while the handler runs, and gives it back", async () => {
    const { app, gate } = world();
    expect(await (await app.request("/json")).json()).toEqual({ used: 1 });
    const answer = await app.request("/text");
    expect([await answer.text(), answer.headers.get("x-own"), answer.headers.get("server-timing")])
      .toEqual(["hello", "1", null]);
    expect(gate.used).toBe(0);
  });

  test("gives it back after an error and after a route that is not there", async () => {
    const { app, gate } = world();
    expect((await app.request("/throws")).status).toBe(500);
    expect((await app.request("/nowhere")).status).toBe(404);
    const bare = new Hono().use(fairAdmission({ gate })).get("/", () => {
      throw "not even an error";
    });
    expect(await Promise.resolve(bare.request("/")).catch(String)).toBe("not even an error");
    expect(gate.used).toBe(0);
  });

  test("holds it for as long as a stream runs, and has the next in line enter then", async () => {
    const { app, gate, made, clock } = world();
    const first = await app.request("/stream");
    const second = watch(Promise.resolve(app.request("/text")));
    made.give("a");
    await turns(2);
    expect([second.settled, gate.used, gate.queued]).toEqual([false, 1, 1]);
    clock.advance(2);
    made.end();
    expect(await first.text()).toBe("a");
    const answer = await second.promise;
    expect([await answer.text(), answer.headers.get("x-own"), answer.headers.get("server-timing")])
      .toEqual(["hello", "1", "adm;dur=2.0"]);
    expect(gate.used).toBe(0);
  });

  test("holds it for server-sent events", async () => {
    const gate = new FairGate({ limit: 1 });
    const go = Promise.withResolvers<void>();
    const app = new Hono().use(fairAdmission({ gate })).get("/", (c) =>
      streamSSE(c, async (stream) => {
        await stream.writeSSE({ data: "1" });
        await go.promise;
        await stream.writeSSE({ data: "2" });
      }));
    const answer = await app.request("/");
    expect([answer.headers.get("content-type"), gate.used]).toEqual(["text/event-stream", 1]);
    go.resolve();
    expect(await answer.text()).toBe("data: 1\n\ndata: 2\n\n");
    expect(gate.used).toBe(0);
  });

  test("gives it back when Hono throws the body away for a HEAD", async () => {
    const { app, gate, made } = world();
    expect((await app.request("/stream", { method: "HEAD" })).status).toBe(200);
    expect([gate.used, made.cancelled !== undefined]).toEqual([0, true]);
  });

  test("has a client that left in line answered 499, and nothing run for it", async () => {
    const { app, gate } = world();
    const client = new AbortController();
    gate.tryEnter();
    const answer = app.request("/json", { signal: client.signal });
    await turns(2);
    expect(gate.queued).toBe(1);
    client.abort();
    expect(gate.queued).toBe(0);
    expect((await answer).status).toBe(499);
  });

  test("turns away with what onRefuse says, given Hono's context", async () => {
    const app = new Hono<{ Variables: { who: string } }>();
    app.use(async (c, next) => {
      c.set("who", "ann");
      await next();
    });
    const gate = new FairGate({ limit: 1, maxQueue: 0 });
    gate.tryEnter();
    app.use(fairAdmission<{ Variables: { who: string } }>({
      gate,
      onRefuse: (c, { reason, response }) =>
        Response.json({ reason, who: c.get("who") }, {
          status: response.status,
          headers: { "retry-after": response.headers.get("retry-after")! },
        }),
    }));
    app.get("/", (c) => c.text("in"));
    const answer = await app.request("/");
    expect([answer.status, answer.headers.get("retry-after"), answer.headers.get("content-type")?.slice(0, 16)])
      .toEqual([503, "1", "application/json"]);
    expect(await answer.json()).toEqual({ reason: "full", who: "ann" });
  });

  test("lets other middleware around it change the body", async () => {
    for (const around of [etag(), compress({ threshold: 0 })]) {
      const { gate, app: inner } = world();
      const outer = new Hono().use(around).route("/", inner);
      const answer = await outer.request("/text", { headers: { "accept-encoding": "gzip" } });
      const packed = answer.headers.get("content-encoding") === "gzip";
      const body = packed ? answer.body!.pipeThrough(new DecompressionStream("gzip")) : answer.body;
      expect(await new Response(body).text()).toBe("hello");
      expect(gate.used).toBe(0);
    }
  });

  test("shares a gate between routes, and makes one a call when given none", async () => {
    const shared = new FairGate({ limit: 1, maxQueue: 0 });
    shared.tryEnter();
    const app = new Hono();
    app.get("/a", fairAdmission({ gate: shared }), (c) => c.text("a"));
    app.get("/b", fairAdmission({ gate: shared }), (c) => c.text("b"));
    app.get("/c", fairAdmission({ limit: 1 }), (c) => c.text("c"));
    const statuses = await Promise.all(["/a", "/b", "/c"].map(async (path) => (await app.request(path)).status));
    expect(statuses).toEqual([503, 503, 200]);
  });

  test("has a bound of 1000 waiters when none is told", async () => {
    const made = new HandMade();
    const app = new Hono().get("/", fairAdmission({ limit: 1 }), (c) => c.body(made.stream));
    const clients = new AbortController();
    await app.request("/");
    const waits = Array.from({ length: 1000 }, () => app.request("/", { signal: clients.signal }));
    await turns(2);
    expect((await app.request("/")).status).toBe(503);
    clients.abort();
    const answers = await Promise.all(waits);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([499]));
  });
});
