import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { Buffer } from "node:buffer";
import * as zlib from "node:zlib";
import { encoder, type EncodingName } from "../../plugins/compress/encoders.ts";
import { squeeze } from "../../plugins/compress/squeeze.ts";
import { turns } from "../support/wait.ts";

const names = ["gzip", "br", "zstd"] as const;
const level = 3;
const nobody = () => {};

const unpack: Readonly<Record<EncodingName, (bytes: Uint8Array) => Uint8Array>> = {
  gzip: (bytes) => zlib.gunzipSync(bytes),
  br: (bytes) => zlib.brotliDecompressSync(bytes),
  zstd: (bytes) => zlib.zstdDecompressSync(bytes),
};

/** A source that is fed by hand. */
function source() {
  let controller!: ReadableStreamDefaultController<Uint8Array>;
  let cancelled: unknown;
  const stream = new ReadableStream<Uint8Array>({
    start: (given) => void (controller = given),
    cancel: (reason) => void (cancelled = reason),
  });
  return { stream, feed: controller, cancelled: () => cancelled };
}

async function all(stream: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const part of stream) parts.push(part);
  return Buffer.concat(parts);
}

for (const name of names) {
  describe(`a body compressed with ${name}`, () => {
    test("is the same when unpacked, however it came", async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.oneof(fc.uint8Array({ maxLength: 3000 }), fc.nat(200_000).map((n) => new Uint8Array(n).fill(n)))),
          async (parts) => {
            const { stream, feed } = source();
            for (const part of parts) feed.enqueue(part.slice());
            feed.close();
            let told = -1;
            const squeezed = squeeze(stream, encoder(name, level), (bytes) => told = bytes);
            const bytes = await all(squeezed.stream);
            await squeezed.sent;
            expect(told).toBe(bytes.byteLength);
            expect(Buffer.from(unpack[name](bytes)).equals(Buffer.concat(parts))).toBe(true);
          },
        ),
        { numRuns: 30 },
      );
    });

    test("that is at hand whole is one piece", async () => {
      const text = new TextEncoder().encode("<p>Hello</p>".repeat(1000));
      const bytes = await encoder(name, level).whole(text);
      expect(bytes.byteLength).toBeLessThan(text.byteLength / 10);
      expect(Buffer.from(unpack[name](bytes)).equals(Buffer.from(text))).toBe(true);
    });

    test("arrives in the parts in which it was flushed, each as soon as it came", async () => {
      const { stream, feed } = source();
      const reader = squeeze(stream, encoder(name, level), nobody).stream.getReader();
      const parts: Uint8Array[] = [];
      const opened = name === "gzip"
        ? zlib.createGunzip()
        : name === "br"
        ? zlib.createBrotliDecompress()
        : zlib.createZstdDecompress();
      let shown = "";
      opened.on("data", (bytes: Uint8Array) => shown += new TextDecoder().decode(bytes));
      for (const word of ["first ", "second ", "third "]) {
        feed.enqueue(new TextEncoder().encode(word));
        // Nothing more comes until this part has been read and unpacked.
        while (!shown.endsWith(word)) {
          const { value } = await reader.read();
          parts.push(value!);
          await new Promise<void>((resolve) => opened.write(value!, () => resolve()));
          await new Promise<void>((resolve) => setTimeout(resolve));
        }
      }
      expect(shown).toBe("first second third ");
      feed.close();
      for (let part = await reader.read(); !part.done; part = await reader.read()) parts.push(part.value);
      expect(new TextDecoder().decode(unpack[name](Buffer.concat(parts)))).toBe("first second third ");
    });

    test("is cut off, and never ended, when its source fails", async () => {
      const { stream, feed } = source();
      let told = -1;
      const { stream: out, sent } = squeeze(stream, encoder(name, level), (bytes) => told = bytes);
      feed.enqueue(new Uint8Array(100_000).fill(7));
      const reader = out.getReader();
      const first = await reader.read();
      expect(first.done).toBe(false);
      let got = first.value!.byteLength;
      const failure = new Error("PHP died");
      feed.error(failure);
      const rest = async () => {
        for (let part = await reader.read(); !part.done; part = await reader.read()) got += part.value.byteLength;
      };
      await expect(rest()).rejects.toBe(failure);
      await expect(sent).rejects.toBe(failure);
      expect(told).toBe(got);
    });

    test("that nobody reads on gives its source up", async () => {
      const { stream, feed, cancelled } = source();
      let told = -1;
      const { stream: out, sent } = squeeze(stream, encoder(name, level), (bytes) => told = bytes);
      feed.enqueue(new Uint8Array(100));
      const reader = out.getReader();
      const { value } = await reader.read();
      await reader.cancel("gone");
      expect(cancelled()).toBe("gone");
      await expect(sent).rejects.toMatchObject({ code: "CLIENT_LEFT", status: 499 });
      expect(told).toBe(value!.byteLength);
    });

    test("is read from its source only as it is read itself", async () => {
      let pulled = 0;
      const stream = new ReadableStream<Uint8Array>({
        pull(controller) {
          pulled++;
          controller.enqueue(crypto.getRandomValues(new Uint8Array(60_000)));
        },
      }, { highWaterMark: 0 });
      const reader = squeeze(stream, encoder(name, level), nobody).stream.getReader();
      await reader.read();
      const after = pulled;
      await turns();
      expect(pulled).toBe(after);
      expect(after).toBeLessThan(20);
      await reader.cancel();
    });
  });
}
