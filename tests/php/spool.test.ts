import { afterAll, describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
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

  test("is a coded 503 when the disk does not take it, and reads no more", async () => {
    const full: (path: string) => Promise<FileHandle> = async (path) => {
      const file = await open(path, "wx+");
      file.write = () => Promise.reject(new Error("ENOSPC: no space left on device, write"));
      return file;
    };
    for (const options of [{ memory: 10, dir, open: full }, { memory: 10, dir: joinPath(dir, "gone") }]) {
      let cancelled: unknown;
      const stream = new ReadableStream<Uint8Array>({
        pull: (controller) => controller.enqueue(new Uint8Array(100)),
        cancel: (reason) => void (cancelled = reason),
      });
      const error = await receiveBody(stream, options).catch((e) => e);
      expect([error.code, error.status]).toEqual(["BODY_UNSPOOLED", 503]);
      expect(cancelled).toBe(error);
      expect(readdirSync(dir)).toEqual([]);
    }
  });
});
