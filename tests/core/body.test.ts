import { describe, expect, test } from "bun:test";
import { limitBody } from "../../core/http/body.ts";

/** A body that gives one byte every `everyMs`, for ever, and tells when nobody wants more. */
function trickle(everyMs: number) {
  const cancelled = Promise.withResolvers<void>();
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      await new Promise((resolve) => setTimeout(resolve, everyMs));
      controller.enqueue(new Uint8Array(1));
    },
    cancel: () => cancelled.resolve(),
  }, { highWaterMark: 0 });
  return { stream, cancelled: cancelled.promise };
}

async function drain(stream: ReadableStream<Uint8Array>): Promise<{ code: string; status: number; message: string }> {
  const reader = stream.getReader();
  try {
    while (!(await reader.read()).done);
  } catch (error) {
    return error as { code: string; status: number; message: string };
  }
  throw new Error("the body ended");
}

describe("a limited body", () => {
  const limits = { maxBody: 1000, idleMs: 5000 };

  test("one that keeps coming is cut at the deadline, and its source is told", async () => {
    const { stream, cancelled } = trickle(5);
    const error = await drain(limitBody(stream, -1, limits, performance.now() + 60));
    expect([error.code, error.status]).toEqual(["BODY_TIMEOUT", 408]);
    expect(error.message).toContain("server.timeout");
    await cancelled;
  });

  test("one that falls silent is cut after the idle time", async () => {
    const { stream, cancelled } = trickle(60_000);
    const error = await drain(limitBody(stream, -1, { ...limits, idleMs: 20 }));
    expect(error.message).toBe("Cannot read the request body: no byte for 20 ms");
    await cancelled;
  });

  test("one over its size is cut, one that ends short is an error", async () => {
    const large = new Response(new Uint8Array(1001)).body as ReadableStream<Uint8Array>;
    expect((await drain(limitBody(large, -1, limits))).status).toBe(413);
    const short = new Response(new Uint8Array(3)).body as ReadableStream<Uint8Array>;
    expect((await drain(limitBody(short, 4, limits))).message).toContain("ended after 3 of 4 bytes");
  });
});
