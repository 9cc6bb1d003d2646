/** Files as they leave a real listener: what only the wire can tell. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import * as fs from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { type App, createApp } from "../../core/app.ts";
import { Site } from "../../core/contracts/site.ts";
import type { Outcome } from "../../core/exchange.ts";
import { VirtualHosts } from "../../core/http/virtual_hosts.ts";
import { type Bound, listen, type ListenOptions } from "../../core/http/listen.ts";
import { TrustedProxies } from "../../core/http/proxies.ts";
import type { AnyPlugin } from "../../core/plugin.ts";
import { anything } from "../../core/standard_schema.ts";
import plugin from "../../plugins/static/plugin.ts";
import { waitFor } from "../support/wait.ts";
import { openBelow, type Tree, tree } from "./support.ts";

const MB = 1024 * 1024;
const pattern = (size: number) => Buffer.alloc(size).map((_, i) => (i * 31 + (i >> 8) + (i >> 16)) & 0xff);
const contents = new Map(
  [["small.css", 4096], ["pic.jpg", 90 * 1024], ["film.mp4", 5 * MB], ["empty.txt", 0]].map((
    [name, size],
  ) => [name as string, pattern(size as number)]),
);
const sparse = 64 * MB;

let site: Tree, app: App, bound: Bound, options: Omit<ListenOptions, "at">;
const outcomes = new Map<string, Outcome>();

/** Sees the outcomes, and answers after a wait when asked to: a handler elsewhere that had to look something up. */
const observer: AnyPlugin = {
  name: "observer",
  api: 1,
  config: anything,
  setup: () => ({
    onRequest: {
      order: "pre",
      async handler(x, next) {
        if (x.query === "late") await new Promise((resolve) => setTimeout(resolve, 20));
        const response = await next();
        if (x.query === "late") await new Promise((resolve) => setTimeout(resolve, 20));
        if (x.query === "shrink") fs.truncateSync(join(site.root, x.path), 200 * 1024);
        return x.query === "wrapped" ? new Response(response.body, response) : response;
      },
    },
    onResponse: (x, outcome) => void outcomes.set(x.target, outcome),
  }),
};

beforeAll(async () => {
  site = tree();
  for (const [name, bytes] of contents) site.write(`public/${name}`, bytes);
  site.write("public/sparse.bin", "");
  fs.truncateSync(join(site.root, "sparse.bin"), sparse);
  const parsed = await plugin.config["~standard"].validate({});
  app = await createApp({
    plugins: [plugin, observer],
    config: { static: (parsed as { value: unknown }).value },
    baseDir: site.base,
    log() {},
    offers: [[
      Site,
      {
        baseDir: site.root,
        virtualHosts: new VirtualHosts(site.root, {}, "/").all,
        timeoutMs: 5000,
        maxBody: 1000,
        software: "test",
      } satisfies Site,
    ]],
  });
  options = {
    intake: { proxies: new TrustedProxies([]), timeoutMs: 1000, maxBody: 1000, idleMs: 1000 },
    maxHeader: 32 * 1024,
    keepAliveMs: 1000,
    headerMs: 5000,
    tls: undefined,
    http2: false,
    handle: app.handle,
  };
  bound = await listen({ ...options, at: { kind: "tcp", host: "127.0.0.1", port: 0 } });
});

afterAll(async () => {
  await bound.stop(true);
  site.remove();
});

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Every byte after the head, until the server closed. */
  readonly body: Buffer;
}

function dial(target: string, lines: readonly string[] = [], method = "GET", at = bound.at): Socket {
  if (at.kind !== "tcp") throw new Error("expected a TCP listener");
  const socket = connect(at.port, at.host);
  socket.write(`${[`${method} ${target} HTTP/1.1`, "Host: x", ...lines].join("\r\n")}\r\n\r\n`);
  return socket;
}

/** Asks for one answer, and takes all that comes until the server closes. */
function ask(target: string, lines: readonly string[] = [], method = "GET"): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const socket = dial(target, ["Connection: close", ...lines], method);
    const parts: Buffer[] = [];
    socket.on("data", (part: Buffer) => parts.push(part));
    // A connection may be cut by a reset: what came before counts.
    socket.on("error", () => {});
    socket.on("close", () => {
      const all = Buffer.concat(parts);
      const end = all.indexOf("\r\n\r\n");
      const [status = "", ...head] = all.subarray(0, end).toString("latin1").split("\r\n");
      if (end < 0) return reject(new Error(`no answer to ${target}`));
      const pairs = head.map((line): [string, string] => [line.split(":", 1)[0]!, line.slice(line.indexOf(":") + 1)]);
      resolve({ status: Number(status.split(" ")[1]), headers: new Headers(pairs), body: all.subarray(end + 4) });
    });
  });
}

const isOpen = (name = "") => openBelow(join(site.root, name)).length > 0;
const framing = ({ headers }: Answer) => [headers.get("content-length"), headers.get("transfer-encoding")];

for (const query of ["", "?late"]) {
  describe(`a file ${query === "" ? "sent at once" : "sent after a wait"}`, () => {
    for (const [name, bytes] of contents) {
      test(`${name}, ${bytes.length} bytes, comes with its length`, async () => {
        const whole = await ask(`/${name}${query}`);
        expect([whole.status, ...framing(whole)]).toEqual([200, String(bytes.length), null]);
        expect(Buffer.compare(whole.body, bytes)).toBe(0);

        const head = await ask(`/${name}${query}`, [], "HEAD");
        expect([head.status, ...framing(head), head.body.length]).toEqual([200, String(bytes.length), null, 0]);
        for (const each of ["etag", "last-modified", "content-type", "accept-ranges", "cache-control"]) {
          expect(head.headers.get(each)).toBe(whole.headers.get(each));
        }
        expect(whole.headers.get("content-disposition")).toBe(null);
        expect(whole.headers.get("content-range")).toBe(null);
        await waitFor(() => !isOpen(), { what: "every file closed" });
      });
    }

    for (const [name, from, to] of [["small.css", 7, 99], ["film.mp4", 77, 3 * MB], ["film.mp4", 0, 5 * MB - 1]]) {
      test(`bytes ${from}-${to} of ${name} come with their length`, async () => {
        const bytes = contents.get(name as string)!;
        const [start, end] = [from as number, to as number];
        const part = await ask(`/${name}${query}`, [`Range: bytes=${start}-${end}`]);
        expect([part.status, ...framing(part)]).toEqual([206, String(end + 1 - start), null]);
        expect(part.headers.get("content-range")).toBe(`bytes ${start}-${end}/${bytes.length}`);
        expect(Buffer.compare(part.body, bytes.subarray(start, end + 1))).toBe(0);
        await waitFor(() => !isOpen(), { what: "every file closed" });
      });
    }
  });
}

test("the connection serves the next request", async () => {
  const socket = dial("/pic.jpg");
  let [got, answers] = [0, 0];
  await new Promise<void>((resolve, reject) => {
    socket.on("error", reject);
    socket.on("data", (part: Buffer) => {
      got += part.length;
      if (part.toString("latin1", 0, 15) === "HTTP/1.1 200 OK") answers++;
      if (got > answers * 90 * 1024) {
        if (answers === 3) resolve();
        else socket.write("GET /pic.jpg HTTP/1.1\r\nHost: x\r\n\r\n");
      }
    });
  });
  socket.destroy();
  expect(answers).toBe(3);
});

test("a response that a plugin made anew is whole all the same", async () => {
  const { status, headers, body } = await ask("/film.mp4?wrapped");
  const bytes = contents.get("film.mp4")!;
  // Bun sends streams chunked.
  if (headers.get("transfer-encoding") === null) expect(Buffer.compare(body, bytes)).toBe(0);
  else expect(body.length).toBeGreaterThan(bytes.length);
  expect([status, body.subarray(-5).toString() === "0\r\n\r\n"]).toEqual([200, headers.has("transfer-encoding")]);
});

test("what was sent is counted, in one outcome", async () => {
  await ask("/film.mp4?counted");
  await waitFor(() => outcomes.has("/film.mp4?counted"), { what: "the outcome" });
  const { status, bytes, error } = outcomes.get("/film.mp4?counted")!;
  expect([status, bytes, error]).toEqual([200, 5 * MB, undefined]);
});

test("clients that leave in the middle leave nothing open, and nothing in flight", async () => {
  for (let round = 0; round < 5; round++) {
    await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        new Promise<void>((resolve, reject) => {
          const socket = dial("/sparse.bin", i % 2 ? [] : ["Range: bytes=5-40000000"]);
          socket.on("error", reject);
          socket.once("data", () => {
            socket.destroy();
            resolve();
          });
        })),
    );
  }
  await waitFor(() => !isOpen("sparse.bin"), { what: "every file closed" });
  await waitFor(() => app.inFlight === 0, { what: "every exchange ended" });
});

test("slow clients hold no memory, and get every byte", async () => {
  // One that does not lose patience with them, however long the others take.
  const patient = await listen({ ...options, keepAliveMs: 120_000, at: { kind: "tcp", host: "127.0.0.1", port: 0 } });
  const before = process.memoryUsage().rss;
  const sockets = Array.from({ length: 8 }, () => dial("/sparse.bin", [], "GET", patient.at));
  await Promise.all(sockets.map((s) => new Promise((resolve) => s.once("data", resolve))));
  for (const s of sockets) s.pause();
  // Others are served meanwhile, and whatever would be read ahead has been by then.
  for (let i = 0; i < 20; i++) await ask("/film.mp4");
  expect(process.memoryUsage().rss - before).toBeLessThan(200 * MB);
  const [first, ...rest] = sockets;
  for (const s of rest) s.destroy();
  let got = 0;
  await new Promise<void>((resolve, reject) => {
    first!.on("data", (part: Buffer) => (got += part.length) > sparse - MB && resolve());
    first!.on("close", () => reject(new Error(`cut off after ${got} bytes`)));
    first!.resume();
  });
  first!.destroy();
  await waitFor(() => !isOpen("sparse.bin"), { what: "every file closed" });
  await patient.stop(true);
});

describe("a file that shrinks is never completed", () => {
  test("before its first byte", async () => {
    site.write("public/early.bin", pattern(MB));
    const { headers, body } = await ask("/early.bin?shrink").catch(() => ({ headers: new Headers(), body: "" }));
    if (headers.has("transfer-encoding")) expect(String(body)).not.toContain("\r\n0\r\n\r\n");
    else expect([null, String(MB)]).toContain(headers.get("content-length"));
    expect(body.length).toBeLessThan(MB);
    await waitFor(() => !isOpen("early.bin"), { what: "the file closed" });
  });

  test("in the middle", async () => {
    const path = join(site.root, "late.bin");
    fs.writeFileSync(path, "");
    fs.truncateSync(path, sparse);
    // Bun keeps the connection, not used again, until it has been idle for as long as one may be; on Deno none is kept.
    const brief = await listen({ ...options, keepAliveMs: 0, at: { kind: "tcp", host: "127.0.0.1", port: 0 } });
    const socket = dial("/late.bin", [], "GET", brief.at);
    let [got, head] = [0, ""];
    socket.once("data", (part: Buffer) => {
      head = part.toString("latin1", 0, 1000);
      socket.pause();
      fs.truncateSync(path, sparse / 2);
      socket.resume();
    });
    socket.on("data", (part: Buffer) => got += part.length);
    socket.on("error", () => {});
    await new Promise((resolve) => socket.on("close", resolve));
    expect(head).toMatch(new RegExp(`content-length: ${sparse}\r\n`, "i"));
    expect(got).toBeLessThan(sparse);
    await waitFor(() => !isOpen("late.bin"), { what: "the file closed" });
    await brief.stop(true);
  });
});
