import { CoreError } from "../../core/error.ts";
import type { Encoder, Squeezer } from "./encoders.ts";

/** A source that gives nothing for so long (ms) has flushed on purpose, or takes its time: what came must not wait. */
const idleMs = 10;

/** A body compressed as it comes. */
export interface Squeezed {
  readonly stream: ReadableStream<Uint8Array>;
  /** Settles when the last byte has been handed over, or none will be any more. */
  readonly sent: Promise<void>;
}

/**
 * Compresses `source` at the pace at which it is read. What the source has given goes out within {@linkcode idleMs}, whole, so that a
 * page that is flushed in parts arrives in parts. A source that fails cuts the body off: it is never ended as if it were whole.
 *
 * @param over called once before `sent` settles, with how many bytes were given
 */
export function squeeze(
  source: ReadableStream<Uint8Array>,
  encoder: Encoder,
  over: (bytes: number) => void,
): Squeezed {
  const { promise: sent, resolve, reject } = Promise.withResolvers<void>();
  sent.catch(() => {});
  const reader = source.getReader();
  let squeezer: Squeezer | undefined, given = 0, failed: unknown, left = false;
  /** Bytes went in since the last flush. */
  let dirty = false;
  let next: Promise<{ done: boolean; value?: Uint8Array | undefined }> | undefined;

  function fail(cause: unknown): void {
    squeezer?.destroy();
    over(given);
    reject(cause);
  }

  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      squeezer = encoder.stream();
      squeezer.on("data", (bytes: Uint8Array) => {
        given += bytes.byteLength;
        controller.enqueue(bytes);
      });
      squeezer.on("error", (cause) => failed = cause);
    },
    async pull(controller) {
      const before = given;
      try {
        while (given === before) {
          next ??= reader.read();
          if (dirty && await quiet(next)) {
            await called((done) => squeezer!.flush(encoder.flush, done));
            dirty = false;
            continue;
          }
          const { done, value } = await next;
          next = undefined;
          if (left) return;
          if (done) {
            await ended(squeezer!);
            controller.close();
            over(given);
            return resolve();
          }
          await called((done) => squeezer!.write(value!, done));
          dirty = true;
          if (failed !== undefined) throw failed;
        }
      } catch (cause) {
        if (left) return;
        await reader.cancel(cause).catch(() => {});
        fail(cause);
        throw cause;
      }
    },
    async cancel(reason) {
      left = true;
      // Its source counts what it gave itself, when it is told.
      await reader.cancel(reason).catch(() => {});
      fail(new CoreError("CLIENT_LEFT", "The client left before the response was whole", { status: 499 }));
    },
  }, { highWaterMark: 0 });
  return { stream, sent };
}

/** Whether nothing comes for a while. */
async function quiet(next: Promise<unknown>): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const idle = new Promise<boolean>((resolve) => timer = setTimeout(resolve, idleMs, true));
  try {
    return await Promise.race([idle, next.then(() => false, () => false)]);
  } finally {
    clearTimeout(timer);
  }
}

/** What `run` calls back with, as a promise. */
function called(run: (done: (error?: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => run((error) => error ? reject(error) : resolve()));
}

/** All bytes are out. */
function ended(squeezer: Squeezer): Promise<void> {
  return new Promise((resolve, reject) => {
    squeezer.once("end", resolve);
    squeezer.once("error", reject);
    squeezer.end();
  });
}
