import { describe, expect, test } from "bun:test";
import process from "node:process";
import { gunzipSync, zstdDecompressSync } from "node:zlib";
import { noMeter } from "../../core/contracts/meter.ts";
import { Compress } from "../../plugins/compress/compress.ts";
import { encoder } from "../../plugins/compress/encoders.ts";
import { type ExchangeInit, TestExchange } from "../support/exchange.ts";

const html = "<p>Hello</p>\n".repeat(500);
const compress = new Compress([encoder("zstd", 3), encoder("gzip", 5)], { types: ["text/*"], minSize: 100 }, noMeter);

/** What the client gets of a page made by `respond`, in pieces or as a stream. */
async function get(accept: string | undefined, init: ExchangeInit & { readonly streamed?: boolean } = {}) {
  const { streamed = false, headers = {}, ...rest } = init;
  const x = new TestExchange("/", {
    ...rest,
    headers: { ...headers, ...(accept === undefined ? {} : { "accept-encoding": accept }) },
  });
  x.extra.push(["server-timing", "adm;dur=1.0"]);
  const bytes = new TextEncoder().encode(html);
  const body = x.method === "HEAD"
    ? null
    : streamed
    ? new Response(bytes).body!
    : [bytes.slice(0, 1000), bytes.slice(1000)];
  const made = x.respond(body, 200, [["content-type", "text/html"], ["etag", '"1"'], [
    "content-length",
    String(bytes.length),
  ]]);
  const response = x.stamp(await compress.answer(x, made));
  return { x, response, made, body: new Uint8Array(await response.arrayBuffer()) };
}

describe("a page", () => {
  for (const streamed of [false, true]) {
    test(`${streamed ? "that is streamed" : "in pieces"} is compressed as the client likes it`, async () => {
      const zstd = await get("gzip, zstd", { streamed });
      expect(zstd.response.headers.get("content-encoding")).toBe("zstd");
      expect(zstdDecompressSync(zstd.body).toString()).toBe(html);
      const gzip = await get("gzip;q=1, zstd;q=0.5, br", { streamed });
      expect(gzip.response.headers.get("content-encoding")).toBe("gzip");
      expect(gunzipSync(gzip.body).toString()).toBe(html);
      await gzip.x.sent;
      expect([gzip.x.bytes, gzip.response.headers.get("content-length")]).toEqual([gzip.body.byteLength, null]);
    });
  }

  test("has the server's own headers once", async () => {
    const { x, response } = await get("zstd");
    expect(response.headers.get("server-timing")).toBe("adm;dur=1.0");
    expect(response.headers.get("x-request-id")).toBe(x.id);
    expect([response.headers.get("etag"), response.headers.get("vary")]).toEqual(['W/"1"', "Accept-Encoding"]);
  });

  test("goes as it is to who takes nothing of ours, and says that it varies", async () => {
    for (const accept of [undefined, "br", "gzip;q=0, *;q=0", "identity, gzip;q=0.5"]) {
      const { response, made, body } = await get(accept);
      expect(response).toBe(made);
      expect(new TextDecoder().decode(body)).toBe(html);
      expect([response.headers.get("content-encoding"), response.headers.get("vary")]).toEqual([
        null,
        "Accept-Encoding",
      ]);
      expect(response.headers.get("etag")).toBe('"1"');
    }
  });

  test("goes as it is to HTTP/1.0", async () => {
    const old = new TestExchange("/", { headers: { "accept-encoding": "gzip" } });
    Object.defineProperty(old, "protocol", { value: "HTTP/1.0" });
    const made = old.respond([new TextEncoder().encode(html)], 200, [["content-type", "text/html"]]);
    expect(await compress.answer(old, made)).toBe(made);
  });

  test("has the same head when only that is asked for", async () => {
    const { response, body } = await get("gzip", { method: "HEAD" });
    expect([response.headers.get("content-encoding"), response.headers.get("content-length")]).toEqual(["gzip", null]);
    expect(body.byteLength).toBe(0);
  });

  test("that is too short is left alone", async () => {
    const x = new TestExchange("/", { headers: { "accept-encoding": "gzip" } });
    const made = x.respond([new TextEncoder().encode("short")], 200, [["content-type", "text/html"]]);
    expect(compress.answer(x, made)).toBe(made);
    expect(made.headers.get("vary")).toBe(null);
  });
});

test("a response of somebody else's is compressed too, and its headers may be fixed", async () => {
  const x = new TestExchange("/", { headers: { "accept-encoding": "gzip" } });
  const foreign = new Response(html, { headers: { "content-type": "text/plain" } });
  const response = x.stamp(await compress.answer(x, foreign));
  expect(gunzipSync(new Uint8Array(await response.arrayBuffer())).toString()).toBe(html);
  expect(response.headers.get("x-request-id")).toBe(x.id);

  const plain = new TestExchange("/");
  const fixed = await fetch("data:text/plain," + "a".repeat(200));
  const varied = await compress.answer(plain, fixed);
  expect(varied.headers.get("vary")).toBe("Accept-Encoding");
  expect(await varied.text()).toBe("a".repeat(200));
});

test("a short one of a known length takes no stream, which would take ten times the memory", async () => {
  const streamless = { ...encoder("gzip", 5), stream: () => expect("a stream").toBe("none") as never };
  const own = new Compress([streamless], { types: ["text/*"], minSize: 100 }, noMeter);
  const x = new TestExchange("/", { headers: { "accept-encoding": "gzip" } });
  const headers = { "content-type": "text/plain", "content-length": String(html.length) };
  const response = await own.answer(x, new Response(html, { headers }));
  expect(gunzipSync(new Uint8Array(await response.arrayBuffer())).toString()).toBe(html);
});

test("beside 128 streams that clients do not take, others go as they are, until one has ended", async () => {
  const own = new Compress([encoder("gzip", 5)], { types: ["text/*"], minSize: 100 }, noMeter);
  const ask = async () => {
    const x = new TestExchange("/", { headers: { "accept-encoding": "gzip" } });
    const { headers, body } = await own.answer(
      x,
      x.respond(new Response(html).body!, 200, [["content-type", "text/plain"]]),
    );
    return { said: [headers.get("content-encoding"), headers.get("vary")], body: body!, x };
  };
  const stalled = await Promise.all(Array.from({ length: 128 }, ask));
  expect(new Set(stalled.map(({ said }) => said[0]))).toEqual(new Set(["gzip"]));
  const more = await ask();
  expect([...more.said, await new Response(more.body).text()]).toEqual([null, "Accept-Encoding", html]);
  await stalled[0]!.body.cancel();
  await expect(stalled[0]!.x.sent).rejects.toThrow();
  expect((await ask()).said[0]).toBe("gzip");
  expect((await ask()).said[0]).toBe(null);
  await new Response(stalled[1]!.body).arrayBuffer();
  expect((await ask()).said[0]).toBe("gzip");
  await Promise.all(stalled.slice(2).map(({ body }) => body.cancel()));
});

test("a stream that fails is a request that failed", async () => {
  const x = new TestExchange("/", { headers: { "accept-encoding": "gzip" } });
  const failure = new Error("PHP died");
  const body = new ReadableStream<Uint8Array>({ pull: (controller) => controller.error(failure) });
  const response = await compress.answer(x, x.respond(body, 200, [["content-type", "text/html"]]));
  await expect(response.text()).rejects.toBe(failure);
  await expect(x.sent).rejects.toBe(failure);
});

test("a stream that fails, of somebody who keeps an eye on it, leaves no promise that nobody looks at", async () => {
  const unseen: unknown[] = [];
  const see = (reason: unknown) => void unseen.push(reason);
  process.on("unhandledRejection", see);
  try {
    for (const how of ["fails", "is left"]) {
      const x = new TestExchange("/", { headers: { "accept-encoding": "gzip" } });
      const { promise, reject } = Promise.withResolvers<void>();
      const failure = new Error(how);
      const body = new ReadableStream<Uint8Array>({
        pull(controller) {
          if (how === "is left") return controller.enqueue(new TextEncoder().encode(html));
          reject(failure);
          controller.error(failure);
        },
        cancel: () => reject(failure),
      });
      x.sent = promise.finally(() => x.bytes = 12_345);
      const response = await compress.answer(x, x.respond(body, 200, [["content-type", "text/html"]]));
      const sent = x.sent.catch(() => {});
      const reader = response.body!.getReader();
      const read = await reader.read().then(({ value }) => value!.byteLength, () => 0);
      if (how === "is left") await reader.cancel();
      await sent;
      expect([how, x.bytes]).toEqual([how, read]);
    }
    await new Promise((resolve) => setTimeout(resolve));
    expect(unseen).toEqual([]);
  } finally {
    process.off("unhandledRejection", see);
  }
});

test("a part says that it varies, and a 304 says what the compressed 200 said, to who has that", async () => {
  const x = new TestExchange("/", { headers: { "accept-encoding": "gzip" } });
  const type = ["content-type", "text/css"] as const;
  const part = x.respond([new Uint8Array(10)], 206, [type, ["content-range", "bytes 0-9/5000"]]);
  expect(await compress.answer(x, part)).toBe(part);
  expect(part.headers.get("vary")).toBe("Accept-Encoding");
  for (const [asked, etag, vary] of [['W/"1"', 'W/"1"', "Accept-Encoding"], ['"1"', '"1"', null], ["*", '"1"', null]]) {
    const again = new TestExchange("/", { headers: { "if-none-match": asked! } });
    const { headers } = again.stamp(await compress.answer(again, again.respond(null, 304, [["etag", '"1"']])));
    expect([headers.get("etag"), headers.get("vary")]).toEqual([etag!, vary!]);
  }
});

test("a head of unknown length says nothing of an encoding, and none is counted", async () => {
  const x = new TestExchange("/", { method: "HEAD", headers: { "accept-encoding": "gzip" } });
  const { headers } = await compress.answer(x, x.respond(null, 200, [["content-type", "text/html"]]));
  expect([headers.get("content-encoding"), headers.get("vary")]).toEqual([null, "Accept-Encoding"]);
});
