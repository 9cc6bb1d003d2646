import { type FileHandle, open, unlink } from "node:fs/promises";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { joinBytes } from "../../core/http/bytes.ts";
import type { BodyStream } from "./fastcgi/request.ts";
import { once, onDisk } from "./on_disk.ts";

/** A request body that has arrived whole. */
export interface ReceivedBody {
  /** In memory, or readable again and again from a file. */
  readonly body: Uint8Array | BodyStream;
  /** Frees the file. Idempotent. */
  dispose(): void;
}

export interface SpoolOptions {
  /** Bodies up to this size (bytes) stay in memory. */
  readonly memory: number;
  /** A private folder for the larger ones. */
  readonly dir: string;
  /** Makes a file to write and read; `open` of `node:fs/promises` when absent. */
  readonly open?: (path: string) => Promise<FileHandle>;
}

const slice = 65_536;

/**
 * Receives a body before any PHP process is taken: a slow client occupies none, and what is cut short or too large is
 * refused without one. Errors are those of the stream, or `BODY_UNSPOOLED` (503) when the disk does not take it; then no more
 * is read.
 */
export async function receiveBody(stream: ReadableStream<Uint8Array>, options: SpoolOptions): Promise<ReceivedBody> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  const reader = stream.getReader();
  for (let r = await reader.read(); !r.done; r = await reader.read()) {
    chunks.push(r.value as Uint8Array<ArrayBuffer>);
    length += r.value.byteLength;
    if (length > options.memory) return await toFile(chunks, reader as Source, options);
  }
  return { body: joinBytes(chunks), dispose() {} };
}

/** Structural: the runtimes' types of readers differ. */
interface Source {
  read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array }>;
  cancel(reason: unknown): Promise<void>;
}

async function toFile(first: readonly Uint8Array[], rest: Source, options: SpoolOptions): Promise<ReceivedBody> {
  let close = () => {};
  try {
    const file = await onDisk(create(options));
    close = once(() => void file.close().catch(() => {}));
    let length = 0;
    const write = async (bytes: Uint8Array) => {
      for (let at = 0; at < bytes.byteLength;) {
        at += (await onDisk(file.write(bytes, at, bytes.byteLength - at, length + at))).bytesWritten;
      }
      length += bytes.byteLength;
    };
    for (const bytes of first) await write(bytes);
    for (let r = await rest.read(); !r.done; r = await rest.read()) await write(r.value!);
    const total = length;
    const stream: AsyncIterable<Uint8Array> = {
      async *[Symbol.asyncIterator]() {
        for (let at = 0; at < total;) {
          const buffer = new Uint8Array(Math.min(slice, total - at));
          const { bytesRead } = await file.read(buffer, 0, buffer.byteLength, at);
          if (bytesRead === 0) throw new Error("the spooled request body is shorter than it was");
          at += bytesRead;
          yield buffer.subarray(0, bytesRead);
        }
      },
    };
    return { body: { length, stream }, dispose: close };
  } catch (error) {
    close();
    rest.cancel(error).catch(() => {});
    throw error;
  }
}

/** A file without a name: its space comes back when it is closed, whatever happens to us. */
async function create({ dir, open: make = (path) => open(path, "wx+", 0o600) }: SpoolOptions): Promise<FileHandle> {
  const path = join(dir, `body-${randomUUID()}`);
  const file = await make(path);
  await unlink(path);
  return file;
}
