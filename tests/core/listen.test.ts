import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createApp } from "../../core/app.ts";
import type { Exchange } from "../../core/exchange.ts";
import { parseAddress, showAddress } from "../../core/http/address.ts";
import { type Bound, listen, type ListenOptions } from "../../core/http/listen.ts";
import { TrustedProxies } from "../../core/http/proxies.ts";
import type { AnyPlugin } from "../../core/plugin.ts";
import { anything } from "../../core/standard_schema.ts";

const runs: string[] = [];
const cancelled = Promise.withResolvers<void>();

/** Answers what each path asks for; the battery below looks at it through a raw socket. */
async function run(x: Exchange): Promise<Response> {
  runs.push(`${x.method} ${x.path}`);
  const bytes = new TextEncoder().encode("data");
  if (x.path === "/body") {
    let n = 0;
    for await (const chunk of x.body ?? []) n += chunk.byteLength;
    return new Response(`n=${n}`);
  }
  if (x.path === "/broken") {
    const parts: (Uint8Array | Error)[] = [bytes, new Error("source failed")];
    return new Response(
      new ReadableStream({
        async pull(c) {
          // The first part is on its way before the source fails: it is not to fail before the head.
          await new Promise((resolve) => setTimeout(resolve, 20));
          const part = parts.shift();
          if (part instanceof Error) c.error(part);
          else c.enqueue(part);
        },
      }),
    );
  }
  if (x.path === "/control") {
    return new Response(new ReadableStream({ pull: (c) => (c.enqueue(bytes), c.close()) }), {
      headers: { "x-odd": "a\x01b" },
    });
  }
  if (x.path === "/endless") {
    return new Response(
      new ReadableStream({
        async pull(c) {
          // Not as fast as it can: on Deno nothing else in this process would have its turn.
          await new Promise((resolve) => setTimeout(resolve, 1));
          c.enqueue(bytes);
        },
        cancel: () => cancelled.resolve(),
      }),
    );
  }
  if (x.path === "/slow") {
    // Longer than a connection may be idle between requests, where that is counted in ms.
    await new Promise((resolve) => setTimeout(resolve, 2500));
    return new Response("slow");
  }
  if (x.path === "/hints") {
    const links = [["Link", '</a,b.css>; rel=preload; title="a, b"'], ["link", "</c.js>; rel=preload"]] as const;
    const told = [x.inform([["x-only", "this"]]), x.inform(links), x.inform([["link", "no link"]])];
    return new Response(told.map(Number).join(""));
  }
  if (x.path === "/cookies") {
    const headers = new Headers([["set-cookie", "a=1"], ["set-cookie", "b=2; Expires=Thu, 01 Jan 2026 00:00:00 GMT"]]);
    return new Response(null, { status: 204, headers });
  }
  return new Response(`${x.protocol} ${x.host} ${x.client.address}:${x.client.port > 0} ${x.scheme}`);
}

const plugin: AnyPlugin = {
  name: "battery",
  api: 1,
  config: anything,
  setup: () => ({ onResolve: () => ({ lane: "none", run }) }),
};

let bound: Bound, options: Omit<ListenOptions, "at">;
/** What takes seconds of waiting, begun before everything else and looked at in its place. */
let noHead: Promise<string>, idle: Promise<string>;
const dir = mkdtempSync(join(tmpdir(), "fairlead-listen-"));

beforeAll(async () => {
  const app = await createApp({ plugins: [plugin], config: {}, baseDir: "/", log() {} });
  options = {
    intake: { proxies: new TrustedProxies(["127.0.0.1"]), timeoutMs: 5000, maxBody: 1000, idleMs: 300 },
    maxHeader: 32 * 1024,
    keepAliveMs: 5000,
    headerMs: 1000,
    tls: undefined,
    http2: false,
    handle: app.handle,
  };
  bound = await listen({ ...options, at: { kind: "tcp", host: "127.0.0.1", port: 0 } });
  noHead = atOwn({ ...options, keepAliveMs: 1000 }, "GET / HTTP/1.1\r\nHo");
  idle = atOwn(
    { ...options, keepAliveMs: 1000, intake: { ...options.intake, timeoutMs: 30_000 } },
    get("/slow"),
  );
  // A failure is told by the test, not before.
  for (const begun of [noHead, idle]) begun.catch(() => {});
});

afterAll(async () => {
  await bound.stop(true);
  rmSync(dir, { recursive: true });
});

/** Sends raw bytes and collects what comes until the server closes or `enough` is seen. */
function raw(text: string, enough: RegExp, at = bound.at): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = at.kind === "tcp" ? connect(at.port, at.host) : connect(at.path);
    let seen = "";
    const done = (end: string) => {
      socket.destroy();
      resolve(seen + end);
    };
    const timer = setTimeout(() => reject(new Error(`nothing like ${enough} within 60 s, only: ${seen}`)), 60_000);
    socket.on("connect", () => socket.write(text));
    socket.on("data", (chunk) => {
      seen += chunk.toString("latin1");
      if (enough.test(seen)) done("");
    });
    socket.on("error", () => done("<closed>"));
    socket.on("close", () => {
      clearTimeout(timer);
      done("<closed>");
    });
  });
}

/** All that comes from a listener of its own until that closes the connection. */
async function atOwn(options: Omit<ListenOptions, "at">, text: string): Promise<string> {
  const own = await listen({ ...options, at: { kind: "tcp", host: "127.0.0.1", port: 0 } });
  try {
    return await raw(text, never, own.at);
  } finally {
    await own.stop(true);
  }
}

const get = (target: string, headers = "Host: shop.example\r\n") => `GET ${target} HTTP/1.1\r\n${headers}\r\n`;
const post = (headers: string, body: string) => `POST /body HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n${body}`;
const never = /(?!)/;

describe("what a listener answers", () => {
  const cases: readonly (readonly [name: string, bytes: string, answer: RegExp])[] = [
    ["a plain request", get("/"), /^HTTP\/1.1 200 .*HTTP\/1.1 shop.example 127.0.0.1:true http/s],
    ["HTTP/1.0 without a host", "GET / HTTP/1.0\r\n\r\n", /^HTTP\/1.[01] 200 .*HTTP\/1.0 {2}127/s],
    ["an absolute target", get("http://shop.example/x"), /^HTTP\/1.1 200/],
    ["no host", get("/", ""), /^HTTP\/1.1 400/],
    ["two hosts", get("/", "Host: a\r\nHost: b\r\n"), /^HTTP\/1.1 400|200 .* a /s],
    ["a host with a space", get("/", "Host: a b\r\n"), /^HTTP\/1.1 400/],
    ["a path above the root", get("/%2e%2e/%2e%2e/x"), /^HTTP\/1.1 (400|200)/],
    ["a broken escape", get("/%zz"), /^HTTP\/1.1 400/],
    ["a NUL", get("/a%00.php"), /^HTTP\/1.1 400/],
    ["30 KB of headers", get("/", `Host: x\r\nX: ${"a".repeat(30_000)}\r\n`), /^HTTP\/1.1 200/],
    ["40 KB of headers", get("/", `Host: x\r\nX: ${"a".repeat(40_000)}\r\n`), /^HTTP\/1.1 431/],
    ["a body", post("Content-Length: 4", "abcd"), /n=4/],
    ["a chunked body", post("Transfer-Encoding: chunked", "3\r\nabc\r\n0\r\n\r\n"), /n=3/],
    [
      "a body over the limit, by its length",
      post("Content-Length: 1001", "abc"),
      /^HTTP\/1.1 413.*connection: close/is,
    ],
    [
      "a body over the limit, chunked",
      post("Transfer-Encoding: chunked", `400\r\n${"a".repeat(1024)}\r\n0\r\n\r\n`),
      /^HTTP\/1.1 413/,
    ],
    ["a body that stalls", post("Content-Length: 10", "abc"), /^HTTP\/1.1 408.*connection: close/is],
    ["an announced body", post("Content-Length: 4\r\nExpect: 100-continue", ""), /^HTTP\/1.1 100 Continue\r\n\r\n/],
    ["length and chunks", post("Content-Length: 4\r\nTransfer-Encoding: chunked", "0\r\n\r\n"), /^HTTP\/1.1 400/],
    ["two lengths", post("Content-Length: 4\r\nContent-Length: 5", "abcd"), /^HTTP\/1.1 400/],
    ["a length with a sign", post("Content-Length: +4", "abcd"), /^HTTP\/1.1 400/],
    ["a space before the colon", post("Transfer-Encoding : chunked", "0\r\n\r\n"), /^HTTP\/1.1 400/],
    ["an unknown coding", post("Transfer-Encoding: xchunked", "0\r\n\r\n"), /^HTTP\/1.1 400/],
    ["two codings", post("Transfer-Encoding: gzip, chunked", "0\r\n\r\n"), /^HTTP\/1.1 400/],
    ["a bad chunk size", post("Transfer-Encoding: chunked", "zz\r\nabc\r\n0\r\n\r\n"), /^HTTP\/1.1 400/],
    ["bare line feeds", "GET / HTTP/1.1\nHost: x\n\n", /^HTTP\/1.1 (400|505)/],
    ["TRACE", "TRACE / HTTP/1.1\r\nHost: x\r\n\r\n", /^HTTP\/1.1 405/],
    ["two cookies, apart", get("/cookies"), /set-cookie: a=1\r\n.*set-cookie: b=2; Expires/is],
  ];
  for (const [name, bytes, answer] of cases) {
    test(name, async () => {
      expect(await raw(bytes, answer)).toMatch(answer);
    });
  }

  test("every answer has one date, that to HEAD too", async () => {
    for (const target of ["GET /", "HEAD /", "GET /cookies", "HEAD /cookies"]) {
      const head = await raw(`${target} HTTP/1.1\r\nHost: x\r\n\r\n`, /\r\n\r\n/);
      const dates = head.match(/^date: .*$/gim) ?? [];
      expect([target, dates.length]).toEqual([target, 1]);
      expect(Math.abs(Date.parse(dates[0]!.slice(6)) - Date.now())).toBeLessThan(30_000);
    }
  });

  test("a request hidden in a body never runs", async () => {
    const hidden = "GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n";
    await raw(post(`Content-Length: ${hidden.length}`, hidden), /n=/);
    await raw(`GET / HTTP/1.1\r\nHost: x\r\nContent-Length: ${hidden.length}\r\n\r\n${hidden}`, /http(\r|$)/);
    await raw(`${post("Transfer-Encoding: chunked\r\nContent-Length: 5", "0\r\n\r\n")}${hidden}`, /400/);
    expect(runs.includes("GET /hidden")).toBe(false);
  });

  test("a response whose source fails is cut off, never completed", async () => {
    const seen = await raw(get("/broken"), never);
    expect(seen).toContain("data");
    expect(seen.endsWith("<closed>")).toBe(true);
    expect(seen).not.toContain("\r\n0\r\n\r\n");
  });

  test("a header the runtime cannot send is still an answer", async () => {
    expect(await raw(get("/control"), /HTTP\/1\.1 \d+ /)).toMatch(/^HTTP\/1\.1 (200|500) /);
  });

  test("a client that leaves ends the response's source", async () => {
    await raw(get("/endless"), /data/);
    await cancelled.promise;
  });

  test("a head that does not come is not waited for", async () => {
    expect(await noHead).toMatch(/^(HTTP\/1.1 408.*)?<closed>$/s);
  });

  test("early hints go out ahead of the response, where the runtime can send them", async () => {
    const seen = await raw(get("/hints"), /[01]{3}(?:\r\n0\r\n\r\n)?$/);
    const [hints, ...rest] = seen.split("\r\n\r\n");
    if ("Deno" in globalThis) {
      expect(hints).toMatch(
        /^HTTP\/1\.1 103 Early Hints\r\nlink: <\/a,b\.css>; rel=preload; title="a, b", <\/c\.js>; rel=preload$/i,
      );
      expect(rest[0]).toMatch(/^HTTP\/1\.1 200 /);
      expect(rest[1]).toMatch(/\b010\b/);
    } else expect([hints!.slice(0, 13), rest[0]]).toEqual(["HTTP/1.1 200 ", "000"]);
  });

  test("an idle connection is kept for keep_alive, however long a request may take", async () => {
    expect(await idle).toMatch(/slow\r?\n?.*<closed>$/s);
  });

  test("a trusted proxy's word is believed", async () => {
    const seen = await raw(
      get("/", "Host: inside\r\nX-Forwarded-For: 203.0.113.9\r\nX-Forwarded-Proto: https\r\n"),
      /https/,
    );
    expect(seen).toContain("203.0.113.9:false https");
  });
});

describe("where a listener binds", () => {
  test("addresses are read and shown", () => {
    for (const text of ["127.0.0.1:80", "[::1]:8080", "unix:/run/x.sock"]) {
      expect(showAddress(parseAddress(text))).toBe(text);
    }
    expect(parseAddress(":8080")).toEqual({ kind: "tcp", host: "::", port: 8080 });
    for (const text of ["8080", "a:b", "1.2.3.4:99999", "unix:relative", ""]) {
      expect(() => parseAddress(text)).toThrow("expected HOST:PORT");
    }
  });

  test("a port in use is an error that names the address and who holds it", async () => {
    const error = await listen({ ...options, at: bound.at }).catch((e) => e);
    expect(error.code).toBe("ADDRESS_TAKEN");
    expect(error.message).toContain(showAddress(bound.at));
    expect(error.message).toContain(`pid ${process.pid}`);
  });

  test("a unix socket is served with mode 0660 and removed at the end; a dead one is replaced, a live one is not", async () => {
    const path = join(dir, "s.sock");
    const at = { kind: "unix", path } as const;
    const first = await listen({ ...options, at });
    expect(statSync(path).mode & 0o777).toBe(0o660);
    expect(await raw(get("/"), /http(\r|$)/, at)).toContain("shop.example");
    const taken = await listen({ ...options, at }).catch((e) => e);
    expect([taken.code, taken.message.includes("another process serves it")]).toEqual(["ADDRESS_TAKEN", true]);
    await first.stop(true);
    expect(statSync(path, { throwIfNoEntry: false })).toBe(undefined);
    writeFileSync(path, "");
    expect((await listen({ ...options, at }).catch((e) => e)).message).toContain("a file of that name exists");
  });

  test("a successor may take the socket's name while its predecessor drains, and keeps it", async () => {
    const path = join(dir, "next.sock");
    const at = { kind: "unix", path } as const;
    const first = await listen({ ...options, at });
    const client = connect(path);
    client.on("error", () => {});
    client.write(get("/endless"));
    await new Promise((resolve) => client.once("data", resolve));
    const drained = first.stop(false);
    const second = await listen({ ...options, at });
    await first.stop(true);
    client.destroy();
    await drained;
    expect(await raw(get("/"), /http(\r|$)/, at)).toContain("shop.example");
    await second.stop(true);
    expect(statSync(path, { throwIfNoEntry: false })).toBe(undefined);
  });

  test("a socket file that nobody serves is replaced", async () => {
    const path = join(dir, "dead.sock");
    // Renamed while bound: closing removes the old name only, so that the file stays behind with nobody listening.
    const dead = createServer().listen(`${path}.tmp`);
    await new Promise((resolve) => dead.once("listening", resolve));
    (await import("node:fs")).renameSync(`${path}.tmp`, path);
    await new Promise((resolve) => dead.close(resolve));
    const bound = await listen({ ...options, at: { kind: "unix", path } });
    expect(await raw(get("/"), /http(\r|$)/, bound.at)).toContain("shop.example");
    await bound.stop(true);
  });
});
