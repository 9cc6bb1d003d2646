import { CoreError } from "../error.ts";

export interface BodyLimits {
  /** Bytes. */
  readonly maxBody: number;
  /** Milliseconds without a byte. */
  readonly idleMs: number;
  /** Milliseconds for all of it, or a byte now and then would keep it open for ever. */
  readonly timeoutMs: number;
}

/**
 * A request body that cannot outgrow its limit, stall, or end short unnoticed. Reads fail with a coded error whose
 * status is 413, 408 or 400; the source is cancelled then, so that no more is taken from the client.
 *
 * @param declared `Content-Length`, or -1 when the length is not known
 */
export function limitBody(
  source: ReadableStream<Uint8Array>,
  declared: number,
  limits: BodyLimits,
): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  const deadline = performance.now() + limits.timeoutMs;
  let got = 0;
  const fail = (error: CoreError): never => {
    reader.cancel(error).catch(() => {});
    throw error;
  };
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await read(reader as Reader, limits.idleMs, deadline - performance.now()).catch(fail);
      if (done) {
        if (declared >= 0 && got < declared) fail(cutShort(got, declared));
        controller.close();
        return;
      }
      got += value.byteLength;
      if (got > limits.maxBody) fail(tooLarge(limits.maxBody));
      controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  }, { highWaterMark: 0 });
}

/** Structural, because the runtimes' own types of these differ. */
interface Reader {
  read(): Promise<Read>;
}

type Read = { readonly done: true; readonly value?: unknown } | { readonly done: false; readonly value: Uint8Array };

function read(reader: Reader, idleMs: number, leftMs: number): Promise<Read> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      const text = idleMs < leftMs ? `no byte for ${idleMs} ms` : "it did not end in the time of the request";
      reject(new CoreError("BODY_TIMEOUT", `Cannot read the request body: ${text}`, { status: 408 }));
    }, Math.max(0, Math.min(idleMs, leftMs)));
    reader.read().then(
      (r) => (clearTimeout(timer), resolve(r)),
      (cause) => {
        clearTimeout(timer);
        const text = cause instanceof Error ? cause.message : String(cause);
        reject(new CoreError("BODY_BROKEN", `Cannot read the request body: ${text}`, { status: 400, cause }));
      },
    );
  });
}

export function tooLarge(maxBody: number): CoreError {
  return new CoreError(
    "BODY_TOO_LARGE",
    `Cannot take the request body: it is over server.max_body (${maxBody} bytes)`,
    {
      status: 413,
    },
  );
}

function cutShort(got: number, declared: number): CoreError {
  return new CoreError("BODY_SHORT", `Cannot read the request body: it ended after ${got} of ${declared} bytes`, {
    status: 400,
  });
}
