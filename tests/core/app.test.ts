import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { type App, createApp } from "../../core/app.ts";
import { CoreError } from "../../core/error.ts";
import type { Exchange, Outcome } from "../../core/exchange.ts";
import { type AnyPlugin, type PluginHooks, token } from "../../core/plugin.ts";
import { anything } from "../../core/standard_schema.ts";
import { type ExchangeInit, TestExchange } from "../support/exchange.ts";

const plugin = (name: string, hooks: PluginHooks, rest: Partial<AnyPlugin> = {}): AnyPlugin => ({
  name,
  api: 1,
  config: anything,
  setup: () => hooks,
  ...rest,
});

interface Ended {
  readonly x: Exchange;
  readonly outcome: Outcome;
}

async function app(...plugins: AnyPlugin[]): Promise<{ app: App; ended: Ended[]; lines: string[] }> {
  const ended: Ended[] = [], lines: string[] = [];
  const observer = plugin("observer", { onResponse: (x, outcome) => void ended.push({ x, outcome }) });
  const made = await createApp({
    plugins: [...plugins, observer],
    config: {},
    baseDir: "/",
    log: (level, message, fields) => void lines.push(`${level} ${message} ${String(fields?.error ?? "")}`),
  });
  return { app: made, ended, lines };
}

async function ask(on: App, target: string, init?: ExchangeInit) {
  const x = new TestExchange(target, init);
  const response = await on.handle(x);
  return { x, status: response.status, text: await response.text(), headers: response.headers };
}

const says = (text: string, lane = "lane") =>
  plugin(`says-${text}`, { onResolve: () => ({ lane, run: () => new Response(text) }) });

describe("the pipeline", () => {
  test("resolve, admit, run, respond, observe: once each, with the request id out", async () => {
    const order: string[] = [];
    const { app: on, ended } = await app(
      plugin("gate", { onAdmit: (_x, e) => ({ release: () => void order.push(`released ${e.lane}`) }) }),
      plugin("php", {
        onResolve: (x) => ({ lane: "php", run: () => (order.push(`ran ${x.path}`), new Response("hi")) }),
      }),
    );
    const { text, headers } = await ask(on, "/a/../b", { headers: { "x-request-id": "abc-1" } });
    expect(text).toBe("hi");
    expect(headers.get("x-request-id")).toBe("abc-1");
    expect(order).toEqual(["ran /b", "released php"]);
    expect(ended.map((e) => e.outcome.status)).toEqual([200]);
    expect(on.inFlight).toBe(0);
  });

  test("an unusable request id is replaced", async () => {
    const { app: on } = await app(says("x"));
    const { headers } = await ask(on, "/", { headers: { "x-request-id": 'a b"c' } });
    expect(headers.get("x-request-id")).toMatch(/^[a-z0-9]+-[a-z0-9]+$/);
  });

  test("the first gate that refuses answers, and permits already given go back in reverse", async () => {
    const order: string[] = [];
    const gate = (name: string) => plugin(name, { onAdmit: async () => ({ release: () => void order.push(name) }) });
    const { app: on, ended } = await app(
      gate("one"),
      gate("two"),
      plugin("no", { onAdmit: () => new Response("full", { status: 503 }) }),
      says("never"),
    );
    const { status, text } = await ask(on, "/");
    expect([status, text]).toEqual([503, "full"]);
    expect(order).toEqual(["two", "one"]);
    expect(ended.length).toBe(1);
  });

  test("hold keeps the permits until the executor releases them, and only once", async () => {
    let released = 0;
    let x: Exchange | undefined;
    const { app: on, ended } = await app(
      plugin("gate", { onAdmit: () => ({ release: () => void released++ }) }),
      plugin("php", {
        onResolve: () => ({
          lane: "php",
          run(exchange) {
            x = exchange;
            exchange.hold();
            return new Response("timeout", { status: 504 });
          },
        }),
      }),
    );
    await ask(on, "/");
    expect([released, ended.length]).toEqual([0, 1]);
    x!.release();
    x!.release();
    expect(released).toBe(1);
  });

  test("a streamed response ends when it has been sent, and its failure is told", async () => {
    const sent = Promise.withResolvers<void>();
    const { app: on, ended } = await app(plugin("php", {
      onResolve: () => ({
        lane: "php",
        run(x) {
          x.sent = sent.promise;
          return new Response("body");
        },
      }),
    }));
    await ask(on, "/");
    expect([ended.length, on.inFlight]).toEqual([0, 1]);
    sent.reject(new Error("cut"));
    await sent.promise.catch(() => {});
    await Promise.resolve();
    expect(String(ended[0]?.outcome.error)).toBe("Error: cut");
    expect(on.inFlight).toBe(0);
  });

  test("what fails is answered 500, or with the status its error carries, and the permit comes back", async () => {
    let out = 0;
    const boom = (error: unknown) =>
      plugin("php", {
        onResolve: () => ({
          lane: "php",
          async run() {
            await Promise.resolve();
            throw error;
          },
        }),
        onAdmit: () => (out++, { release: () => void out-- }),
      });
    const plain = await app(boom(new Error("secret detail")));
    const a = await ask(plain.app, "/");
    expect([a.status, a.text]).toEqual([500, "500 Internal Server Error\n"]);
    expect(plain.lines.join()).toContain("secret detail");
    const coded = await app(boom(new CoreError("BODY_TOO_LARGE", "too large", { status: 413 })));
    const b = await ask(coded.app, "/");
    expect([b.status, b.headers.get("connection")]).toEqual([413, "close"]);
    expect(out).toBe(0);
  });

  test("what gives no answer by the deadline is 504; the permit comes back when it has ended", async () => {
    let out = 0;
    const answers: ((response: Response) => void)[] = [];
    const { app: on, ended } = await app(plugin("stuck", {
      onAdmit: () => (out++, { release: () => void out-- }),
      onResolve: () => ({ lane: "lane", run: () => new Promise((resolve) => answers.push(resolve)) }),
    }));
    const intake = { timeoutMs: 50 };
    // Stands for the listener: an application alone does not keep a process running.
    const listener = setInterval(() => {}, 1000);
    const [first, second] = await Promise.all([ask(on, "/1", { intake }), ask(on, "/2", { intake })]);
    clearInterval(listener);
    expect([first.status, second.status]).toEqual([504, 504]);
    expect([out, on.inFlight, ended.length]).toEqual([2, 0, 2]);
    expect(ended.map(({ outcome }) => (outcome.error as CoreError).code)).toEqual([
      "REQUEST_TIMEOUT",
      "REQUEST_TIMEOUT",
    ]);
    const cancelled = Promise.withResolvers<void>();
    answers[0]!(new Response(new ReadableStream({ cancel: () => cancelled.resolve() })));
    answers[1]!(new Response("too late"));
    await cancelled.promise;
    expect([out, ended.length]).toEqual([0, 2]);
  });

  test("a body that drips past the deadline is 408 for whoever reads it", async () => {
    const { app: on } = await app(plugin("read", {
      onResolve: (x) => ({ lane: "lane", run: async () => new Response(await new Response(x.body).text()) }),
    }));
    const seen = await ask(on, "/", { method: "POST", body: "abc", intake: { timeoutMs: -1 } });
    expect(seen.status).toBe(408);
  });

  test("a broken observer harms neither the client nor the other observers", async () => {
    const { app: on, ended, lines } = await app(
      says("fine"),
      plugin("bad", {
        onResponse() {
          throw new Error("oops");
        },
      }),
    );
    expect((await ask(on, "/")).text).toBe("fine");
    expect(ended.length).toBe(1);
    expect(lines.join()).toContain("oops");
  });

  test("nobody resolves: 404; bad heads are refused before any plugin sees them, yet observed", async () => {
    let seen = 0;
    const { app: on, ended } = await app(plugin("look", { onRequest: (_x, next) => (seen++, next()) }));
    expect((await ask(on, "/nothing")).status).toBe(404);
    expect((await ask(on, "/../up")).status).toBe(400);
    expect((await ask(on, "/", { headers: { host: "a, b" } })).status).toBe(400);
    expect((await ask(on, "http:///x")).status).toBe(400);
    expect((await ask(on, "/", { method: "TRACE" })).status).toBe(405);
    const big = { method: "POST", headers: { "content-length": "1000001" } };
    expect((await ask(on, "/", big)).status).toBe(413);
    const both = { method: "POST", headers: { "transfer-encoding": "chunked", "content-length": "1" } };
    expect((await ask(on, "/", both)).status).toBe(400);
    expect([seen, ended.length]).toEqual([1, 7]);
    // Their bodies are known, and told: "404 Not Found" and so on, each with its line feed.
    expect(ended.map(({ outcome }) => outcome.bytes)).toEqual([14, 16, 16, 16, 23, 22, 16]);
    await ask(on, "/nothing", { method: "HEAD" });
    expect(ended.at(-1)!.outcome.bytes).toBe(0);
  });

  test("the authority of an absolute target counts, not the Host field", async () => {
    const { app: on } = await app(plugin("tell", { onRequest: (x) => new Response(`${x.host} ${x.target}`) }));
    expect((await ask(on, "http://inside.example:81/a?b")).text).toBe("inside.example:81 /a?b");
  });

  test("immutable responses get the request id too, and extra headers are added", async () => {
    const { app: on } = await app(plugin("go", {
      onRequest(x) {
        x.extra.push(["server-timing", "adm;dur=1"]);
        return Response.redirect("http://shop.example/new", 301);
      },
    }));
    const { status, headers } = await ask(on, "/old");
    expect([status, headers.get("location"), headers.get("server-timing")]).toEqual([
      301,
      "http://shop.example/new",
      "adm;dur=1",
    ]);
    expect(headers.has("x-request-id")).toBe(true);
  });
});

test("what is in flight returns to zero whatever fails, at each moment the number of open exchanges", async () => {
  type End = "answer" | "throw" | "reject" | "stream" | "cut" | "refused";
  const ends = fc.array(fc.constantFrom<End>("answer", "throw", "reject", "stream", "cut", "refused"), {
    maxLength: 12,
  });
  await fc.assert(
    fc.asyncProperty(ends, async (ends) => {
      const open: { readonly end: End; finish(): void }[] = [];
      const run = (x: Exchange): Response | Promise<Response> => {
        const end = x.query as End;
        const gate = Promise.withResolvers<void>();
        if (end === "stream" || end === "cut") {
          x.sent = gate.promise;
          open.push({ end, finish: () => end === "cut" ? gate.reject(new Error("cut")) : gate.resolve() });
          return new Response("body");
        }
        open.push({ end, finish: gate.resolve });
        if (end === "throw") throw new Error("thrown");
        return gate.promise.then(() => {
          if (end === "reject") throw new Error("rejected");
          return new Response("answer");
        });
      };
      const { app: on, ended } = await app(plugin("php", { onResolve: () => ({ lane: "php", run }) }));
      const answers = ends.map((end) => on.handle(new TestExchange(end === "refused" ? "/../x" : `/x?${end}`)));
      const later = open.filter(({ end }) => end !== "throw");
      expect(on.inFlight).toBe(later.length);
      for (const [i, { finish }] of later.entries()) {
        finish();
        await new Promise((resolve) => setTimeout(resolve));
        expect(on.inFlight).toBe(later.length - i - 1);
      }
      await Promise.all(answers);
      expect([on.inFlight, ended.length]).toEqual([0, ends.length]);
    }),
    { numRuns: 50 },
  );
});

describe("public routes", () => {
  const routes = plugin("routes", {
    onRoutes(site) {
      site.get("/admin/*", (c) => c.text(`guarded ${c.env.exchange.path}`));
      site.post("/echo", async (c) => c.text(await c.req.text()));
    },
  });

  test("are matched on the canonical path, so that no spelling slips past one", async () => {
    const { app: on } = await app(routes, says("open"));
    for (
      const target of ["/admin/x", "//admin/x", "/./admin/x", "/a/../admin/x", "/%61dmin/x", "/admin%2Fx", "/\\admin/x"]
    ) {
      expect((await ask(on, target)).text).toBe("guarded /admin/x");
    }
    expect((await ask(on, "/other")).text).toBe("open");
  });

  test("read a body that is limited, and name themselves in the metrics label", async () => {
    const { app: on, ended } = await app(routes, says("open"));
    expect((await ask(on, "/echo", { method: "POST", body: "hello" })).text).toBe("hello");
    const long = {
      method: "POST",
      headers: { "transfer-encoding": "chunked" },
      body: "x".repeat(30),
      intake: { maxBody: 20 },
    };
    expect((await ask(on, "/echo", long)).status).toBe(413);
    await ask(on, "/other");
    expect(ended.map((e) => e.x.handler)).toEqual(["route", "route", "core"]);
  });
});

describe("set-up", () => {
  test("a plugin that fails to set up is named, and those before it are closed", async () => {
    const closed: string[] = [];
    const error = await app(
      plugin("first", { onClose: () => void closed.push("first") }),
      plugin("second", {}, {
        setup() {
          throw new Error("no luck");
        },
      }),
    ).catch((e) => e);
    expect([error.code, error.message]).toEqual(["PLUGIN_FAILED", "second.setup: no luck"]);
    expect(closed).toEqual(["first"]);
  });

  test("a promised service must be provided; a slow setup is cut off", async () => {
    const broken = await app(plugin("liar", {}, { provides: [token("x@1")] })).catch((e) => e);
    expect(broken.code).toBe("SERVICE_MISSING");
    const slow = await createApp({
      plugins: [plugin("slow", {}, { setup: () => new Promise(() => {}) })],
      config: {},
      baseDir: "/",
      log() {},
      setupTimeoutMs: 5,
    }).catch((e) => e);
    expect([slow.code, slow.plugin]).toEqual(["SETUP_TIMEOUT", "slow"]);
  });

  test("a plugin gets at the services it has declared, and at no other", async () => {
    const [a, b] = [token<string>("a@1"), token<string>("b@1")];
    const offers = plugin("offers", {}, {
      provides: [a, b],
      setup: (ctx) => (ctx.provide(a, "A"), ctx.provide(b, "B")),
    });
    const seen: unknown[] = [];
    const asks = (setup: AnyPlugin["setup"]) => plugin("asks", {}, { needs: [a], wants: [b], setup });
    await app(offers, asks((ctx) => void seen.push(ctx.use(a), ctx.find(b))));
    expect(seen).toEqual(["A", "B"]);
    for (
      const [setup, text] of [
        [(ctx) => ctx.use(b), 'asks uses "b@1"'],
        [(ctx) => ctx.find(a), 'asks looks for "a@1"'],
        [(ctx) => ctx.provide(a, "mine"), 'asks provides "a@1"'],
      ] satisfies [AnyPlugin["setup"], string][]
    ) {
      const error = await app(offers, asks(setup)).catch((e) => e);
      expect([error.code, error.plugin]).toEqual(["SERVICE_UNDECLARED", "asks"]);
      expect(error.message).toContain(text);
    }
  });

  test("a plugin that fails on its routes, or returns a hook nobody knows, has those before it closed", async () => {
    for (
      const bad of [
        plugin("bad", {
          onRoutes() {
            throw new Error("no routes");
          },
        }),
        plugin("bad", { onNothing() {} } as never),
      ]
    ) {
      const closed: string[] = [];
      const error = await app(plugin("first", { onClose: () => void closed.push("first") }), bad).catch((e) => e);
      expect([error.plugin, closed]).toEqual(["bad", ["first"]]);
    }
  });

  test("plugins close in reverse order, whatever fails", async () => {
    const closed: string[] = [];
    const { app: on } = await app(
      plugin("a", { onClose: () => void closed.push("a") }),
      plugin("b", { onClose: () => Promise.reject(new Error("stuck")) }),
      plugin("c", { onClose: () => void closed.push("c") }),
    );
    const failed = await on.close();
    expect(closed).toEqual(["c", "a"]);
    expect(failed.map((e) => e.message)).toEqual(["b.onClose: stuck"]);
  });
});
