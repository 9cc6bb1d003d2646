import type { Exchange } from "../../core/exchange.ts";
import type { ResponseHead } from "./fastcgi/head.ts";

type HeaderPairs = Parameters<Exchange["respond"]>[2];

/** What PHP's head says to a client, and to us about the body. */
export interface ReplyHead {
  readonly status: number;
  /** PHP's headers without those that are between two hops, an empty content type, the length and `X-Request-Id`. */
  readonly headers: HeaderPairs;
  /** `Content-Length`, or -1 when there is none, or none that is one: two of them, words, or that of a file that the answer names. */
  readonly length: number;
  /** Whether the body asks to go out as it comes: server-sent events, or `X-Accel-Buffering: no`. */
  readonly streams: boolean;
  /** Whether the status never has a body. */
  readonly bodyless: boolean;
}

export function readReplyHead({ status, headers }: ResponseHead): ReplyHead {
  let length = -1, lengths = 0, streams = false, namesFile = false;
  /** Made when the first header is dropped: mostly none is. */
  let kept: (readonly [name: string, value: string])[] | undefined;
  for (let i = 0; i < headers.length; i++) {
    const header = headers[i]!, value = header[1];
    let drop = false;
    switch (header[0].toLowerCase()) {
      case "connection":
      case "keep-alive":
      case "proxy-connection":
      case "te":
      case "trailer":
      case "transfer-encoding":
      case "upgrade":
        drop = true;
        break;
      case "x-request-id":
        // The server's own goes out, which its logs have: a client must not get two.
        drop = true;
        break;
      case "content-length":
        drop = true;
        length = lengths++ === 0 && /^\d+$/.test(value) ? Number(value) : -1;
        break;
      case "content-type":
        drop = value === "";
        streams ||= value.startsWith("text/event-stream");
        break;
      case "x-accel-redirect":
      case "x-sendfile":
        namesFile = true;
        break;
      case "x-accel-buffering":
        streams ||= value.toLowerCase() === "no";
        break;
    }
    if (drop) kept ??= headers.slice(0, i);
    else kept?.push(header);
  }
  const bodyless = status === 204 || status === 205 || status === 304;
  // Symfony tells the file's length, and leaves the body out.
  if (namesFile) length = -1;
  return { status, headers: kept ?? headers, length, streams, bodyless };
}

/** The head's headers with its length, when it has one. */
export function withLength({ headers, length }: ReplyHead): HeaderPairs {
  return length < 0 ? headers : [...headers, ["Content-Length", String(length)]];
}
