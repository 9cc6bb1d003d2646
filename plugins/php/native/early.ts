import { Buffer } from "node:buffer";
import { HeadParser, type ResponseHead } from "../fastcgi/head.ts";
import { malformed } from "./frame.ts";

/** Reads the payload of an EARLY frame. */
export function readEarly(payload: Uint8Array): ResponseHead {
  let early: ResponseHead | undefined;
  const parser = new HeadParser({ onInterim: (head) => early ??= head });
  parser.push(Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength));
  if (early === undefined || parser.head !== undefined) throw malformed("an early response that is none");
  return early;
}
