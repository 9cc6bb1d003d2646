import { afterAll, describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join as joinPath } from "node:path";
import { receiveBody } from "../../plugins/php/spool.ts";
import { join } from "./fastcgi/support.ts";

const dir = mkdtempSync(joinPath(tmpdir(), "fairlead-spool-"));
afterAll(() => rmSync(dir, { recursive: true }));

const streamOf = (chunks: readonly Uint8Array[], error?: Error): ReadableStream<Uint8Array> => {
  const left = [...chunks];
  return new ReadableStream({
    pull(controller) {
      const next = left.shift();
      if (next !== undefined) controller.enqueue(next);
      else if (error !== undefined) controller.error(error);
      else controller.close();
    },
  });
};

async function bytesOf(body: Awaited<ReturnType<typeof receiveBody>>["body"]): Promise<Uint8Array> {
  if (body instanceof Uint8Array) return body;
  const parts: Uint8Array[] = [];
  for await (const part of body.stream as AsyncIterable<Uint8Array>) parts.push(part);
  expect(parts.reduce((sum, part) => sum + part.byteLength, 0)).toBe(body.length);
  return join(parts);
}

describe("receiveBody", () => {
  test("gives the bytes back, in memory or from a file without a name, as often as asked", async () => {
    const chunk = fc.uint8Array({ minLength: 1, maxLength: 4000 });
    await fc.assert(
      fc.asyncProperty(fc.array(chunk, { maxLength: 12 }), fc.nat(10_000), async (chunks, memory) => {
        const all = join(chunks);
        const received = await receiveBody(streamOf(chunks), { memory, dir });
        expect(received.body instanceof Uint8Array).toBe(all.byteLength <= memory);
        expect(readdirSync(dir)).toEqual([]);
        for (let i = 0; i < 2; i++) expect(await bytesOf(received.body)).toEqual(all);
        received.dispose();
        received.dispose();
      }),
      { numRuns: 60 },
    );
  });

  test("hands the stream's failure on and leaves nothing behind", async () => {
    for (const memory of [10, 1000]) {
      const failing = receiveBody(streamOf([new Uint8Array(100)], new Error("cut off")), { memory, dir });
      expect((await failing.catch((e) => e)).message).toBe("cut off");
      expect(readdirSync(dir)).toEqual([]);
    }
  });
});
