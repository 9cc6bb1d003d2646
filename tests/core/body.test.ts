import { describe, expect, test } from "bun:test";
import { limitBody } from "../../core/http/body.ts";

/** A client that sends one byte every 5 ms for ever. */
function drip(onCancel: () => void): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      controller.enqueue(new Uint8Array(1));
    },
    cancel: onCancel,
  });
}

async function drain(stream: ReadableStream<Uint8Array>): Promise<{ bytes: number; error: unknown }> {
  const reader = stream.getReader();
  let bytes = 0;
  try {
    for (let r = await reader.read(); !r.done; r = await reader.read()) bytes += r.value.byteLength;
  } catch (error) {
    return { bytes, error };
  }
  return { bytes, error: undefined };
}

describe("limitBody", () => {
  test("ends a body that is never silent and never over", async () => {
    let cancelled = false;
    const began = performance.now();
    const body = limitBody(drip(() => cancelled = true), -1, { maxBody: 1e6, idleMs: 10_000, timeoutMs: 100 });
    const { error } = await drain(body);
    expect(error).toMatchObject({ code: "BODY_TIMEOUT", status: 408 });
    expect(performance.now() - began).toBeGreaterThan(90);
    expect(cancelled).toBe(true);
  });

  test("ends a silent body, one too long and one too short, each with its status", async () => {
    const limits = { maxBody: 3, idleMs: 20, timeoutMs: 10_000 };
    const silent = new ReadableStream<Uint8Array>({ pull: () => new Promise<void>(() => {}) });
    expect((await drain(limitBody(silent, -1, limits))).error).toMatchObject({ code: "BODY_TIMEOUT", status: 408 });
    const of = (text: string) => new Response(text).body as ReadableStream<Uint8Array>;
    expect((await drain(limitBody(of("four"), -1, limits))).error).toMatchObject({ status: 413 });
    expect((await drain(limitBody(of("ab"), 3, limits))).error).toMatchObject({ code: "BODY_SHORT", status: 400 });
    expect(await drain(limitBody(of("abc"), 3, limits))).toEqual({ bytes: 3, error: undefined });
  });
});
