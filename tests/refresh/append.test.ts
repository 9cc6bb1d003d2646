import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { append } from "../../plugins/refresh/append.ts";
import { TestExchange } from "../support/exchange.ts";
import { within } from "../support/wait.ts";

const text = new TextEncoder();
const tail = text.encode("<script></script>");

function streamOf(chunks: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  const left = [...chunks];
  return new ReadableStream({
    pull(controller) {
      const next = left.shift();
      if (next === undefined) controller.close();
      else controller.enqueue(next);
    },
  });
}

describe("append", () => {
  test("gives every byte as it was and the tail behind it, however the body is cut", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 20 }), { maxLength: 8 }), async (chunks) => {
        const out = append(new TestExchange("/"), new Response(streamOf(chunks)), tail);
        const whole = [...chunks.flatMap((chunk) => [...chunk]), ...tail];
        expect([...new Uint8Array(await out.arrayBuffer())]).toEqual(whole);
      }),
    );
  });

  test("hands a chunk on before the next has come", async () => {
    const source = new TransformStream<Uint8Array, Uint8Array>();
    const writer = source.writable.getWriter();
    const reader = append(new TestExchange("/"), new Response(source.readable), tail).body!.getReader();
    const written = writer.write(text.encode("<p>first"));
    expect(new TextDecoder().decode((await reader.read()).value)).toBe("<p>first");
    await written;
    void writer.close();
    expect((await reader.read()).value).toEqual(tail);
    expect((await reader.read()).done).toBe(true);
  });

  test("keeps status and headers, but for what is true of the old bytes alone, and forbids to keep the page", () => {
    const headers = new Headers({
      "content-type": "text/html",
      "content-length": "3",
      etag: '"a"',
      "last-modified": "Mon, 30 Nov 2026 12:00:00 GMT",
      "accept-ranges": "bytes",
      "cache-control": "public, max-age=600",
      vary: "Cookie",
    });
    headers.append("set-cookie", "a=1");
    headers.append("set-cookie", "b=2");
    const out = append(new TestExchange("/"), new Response("<p>", { status: 500, statusText: "Oh no", headers }), tail);
    expect([out.status, out.statusText]).toEqual([500, "Oh no"]);
    expect([...out.headers].map((field) => field.join(": ")).sort()).toEqual([
      "cache-control: no-store",
      "content-type: text/html",
      "set-cookie: a=1",
      "set-cookie: b=2",
      "vary: Cookie",
    ]);
  });

  test("a response that has the server's own headers gets none of them twice, one that has not gets them all", async () => {
    for (const made of ["by the exchange", "by itself"]) {
      const x = new TestExchange("/");
      x.extra.push(["server-timing", "app;dur=1"]);
      const response = made === "by itself"
        ? new Response("<p>")
        : x.respond([text.encode("<p>")], 200, [["vary", "Cookie"]]);
      const out = x.stamp(append(x, response, tail));
      expect([made, out.headers.get("x-request-id"), out.headers.get("server-timing")]).toEqual([
        made,
        x.id,
        "app;dur=1",
      ]);
      expect(await out.text()).toBe("<p><script></script>");
    }
  });

  test("a body without a byte gets the other tail, and bytes are counted when they have been sent", async () => {
    const alone = text.encode("alone");
    expect(await append(new TestExchange("/"), new Response(null), tail, alone).text()).toBe("alone");
    const empty = streamOf([new Uint8Array()]);
    expect(await append(new TestExchange("/"), new Response(empty), tail, alone).text()).toBe("alone");

    const x = new TestExchange("/");
    x.bytes = 3;
    append(x, new Response("<p>"), tail);
    expect(x.bytes).toBe(3 + tail.byteLength);

    const streamed = new TestExchange("/");
    const sent = Promise.withResolvers<void>();
    streamed.bytes = 3;
    streamed.sent = sent.promise;
    const out = append(streamed, new Response("<p>"), tail);
    sent.resolve();
    await out.text();
    await streamed.sent;
    expect(streamed.bytes).toBe(3 + tail.byteLength);
  });

  test("who stops reading stops the source, and the exchange ends", async () => {
    let reason: unknown;
    const source = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(text.encode("x")),
      cancel: (why) => void (reason = why),
    });
    const x = new TestExchange("/");
    x.sent = Promise.resolve();
    const reader = append(x, new Response(source), tail).body!.getReader();
    await reader.read();
    await reader.cancel("left");
    await x.sent;
    expect(reason).toBe("left");
  });

  test("a source that fails fails the page", async () => {
    const source = new ReadableStream<Uint8Array>({ pull: (controller) => controller.error(new Error("cut")) });
    const out = append(new TestExchange("/"), new Response(source), tail);
    await expect(out.text()).rejects.toThrow("cut");
  });

  test("is over when its source fails, whoever else knows of it", async () => {
    const x = new TestExchange("/");
    const failure = new Error("gone");
    x.sent = Promise.resolve();
    const out = append(x, new Response(new ReadableStream({ pull: (c) => c.error(failure) })), tail);
    await expect(out.text()).rejects.toBe(failure);
    await within(1000, "the end", x.sent);
  });
});
