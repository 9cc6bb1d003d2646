import type { Exchange } from "../../core/exchange.ts";

type Sending = Pick<Exchange, "bytes" | "sent" | "remake" | "pieces">;

/** What is true of the bytes of a response as they were. */
const ofTheBytes = [
  ...["content-length", "etag", "last-modified", "accept-ranges"],
  ...["content-md5", "digest", "content-digest", "repr-digest"],
];

/** A response with some bytes more at its end: `tail`, or `alone` where it has none. All are sent as they come. */
export function append(x: Sending, response: Response, tail: Uint8Array, alone: Uint8Array = tail): Response {
  const headers = new Headers(response.headers);
  for (const name of ofTheBytes) headers.delete(name);
  // What has the script must not be shown when nobody serves it any more.
  headers.set("cache-control", "no-store");

  const count = (bytes: number) => {
    if (x.bytes >= 0) x.bytes += bytes;
  };
  const pieces = x.pieces(response);
  if (pieces !== undefined) {
    const more = pieces.some((piece) => piece.byteLength > 0) ? tail : alone;
    count(more.byteLength);
    return x.remake(response, [...pieces, more as Uint8Array<ArrayBuffer>], headers);
  }

  const whole = Promise.withResolvers<void>();
  const { sent } = x;
  let added = 0;
  const stream = followedBy(response.body, (any) => any ? tail : alone, (bytes) => {
    added = bytes;
    whole.resolve();
  });
  if (sent === undefined) count(x.bytes === 0 ? alone.byteLength : tail.byteLength);
  else x.sent = Promise.all([sent, whole.promise]).then(() => count(added));
  return x.remake(response, stream, headers);
}

/**
 * @param last what follows a body of any bytes, or of none
 * @param over called when all has been handed over or nobody reads any more, with how many bytes were added
 */
function followedBy(
  body: ReadableStream<Uint8Array> | null,
  last: (any: boolean) => Uint8Array,
  over: (added: number) => void,
): ReadableStream<Uint8Array> {
  const reader = body?.getReader();
  let any = false;
  return new ReadableStream({
    async pull(controller) {
      const next = await reader?.read().catch((cause) => {
        over(0);
        throw cause;
      });
      if (next !== undefined && !next.done) {
        any ||= next.value.byteLength > 0;
        return controller.enqueue(next.value);
      }
      const bytes = last(any);
      controller.enqueue(bytes);
      controller.close();
      over(bytes.byteLength);
    },
    async cancel(reason) {
      over(0);
      await reader?.cancel(reason);
    },
  }, { highWaterMark: 0 });
}
