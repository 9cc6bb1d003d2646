import { describe, expect, test } from "bun:test";
import { limitBody } from "../../core/http/body.ts";

const limits = { maxBody: 10, idleMs: 60_000 };

/** A source that gives one byte at each read, for ever, and tells when it was cancelled. */
function dripping() {
  const cancelled = Promise.withResolvers<unknown>();
  const source = new ReadableStream<Uint8Array>({
    async pull(controller) {
      await new Promise((next) => setTimeout(next, 5));
      controller.enqueue(new Uint8Array(1));
    },
    cancel: (reason) => cancelled.resolve(reason),
  }, { highWaterMark: 0 });
  return { source, cancelled: cancelled.promise };
}

function silent() {
  const cancelled = Promise.withResolvers<unknown>();
  return { source: new ReadableStream<Uint8Array>({ cancel: cancelled.resolve }), cancelled: cancelled.promise };
}

async function failure(body: ReadableStream<Uint8Array>) {
  try {
    for await (const _ of body);
  } catch (error) {
    const { code, status, message } = error as { code?: string; status?: number; message: string };
    return [code, status, message.replace("Cannot read the request body: ", "")];
  }
  return "whole";
}

describe("a request body", () => {
  test("that drips is 408 at the request's deadline, however often a byte comes", async () => {
    const { source, cancelled } = dripping();
    const body = limitBody(source, -1, { maxBody: Infinity, idleMs: 60_000 }, performance.now() + 60);
    expect(await failure(body)).toEqual(["BODY_TIMEOUT", 408, "it was not whole within server.timeout"]);
    expect(String(await cancelled)).toContain("server.timeout");
  });

  test("that comes when the deadline has passed already is 408 at once", async () => {
    const body = limitBody(silent().source, 3, limits, performance.now() - 1);
    expect(await failure(body)).toEqual(["BODY_TIMEOUT", 408, "it was not whole within server.timeout"]);
  });

  test("that stalls is 408 long before the deadline", async () => {
    const { source, cancelled } = silent();
    const body = limitBody(source, 3, { ...limits, idleMs: 20 }, performance.now() + 60_000);
    expect(await failure(body)).toEqual(["BODY_TIMEOUT", 408, "no byte for 20 ms"]);
    await cancelled;
  });

  test("that outgrows its limit is 413 and taken no further; one that fits is whole", async () => {
    const { source, cancelled } = dripping();
    expect((await failure(limitBody(source, -1, limits))).slice(0, 2)).toEqual(["BODY_TOO_LARGE", 413]);
    await cancelled;
    const ten = new Response(new Uint8Array(10)).body as ReadableStream<Uint8Array>;
    expect(await failure(limitBody(ten, 10, limits))).toBe("whole");
  });

  test("that ends before its length is 400", async () => {
    const short = new Response(new Uint8Array(3)).body as ReadableStream<Uint8Array>;
    expect(await failure(limitBody(short, 4, limits))).toEqual(["BODY_SHORT", 400, "it ended after 3 of 4 bytes"]);
  });
});
