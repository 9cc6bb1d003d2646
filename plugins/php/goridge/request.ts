/**
 * A request in one buffer, for one write: the header, the context, the body.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { open } from "node:fs/promises";
import { CoreError } from "../../../core/error.ts";
import type { FrameBody } from "./body.ts";
import type { RequestContext } from "./context.ts";
import { jsonContext } from "./context_json.ts";
import { protoContext } from "./context_proto.ts";
import { headerLength, JSON_CODEC, PROTO_CODEC, writeHeader } from "./frame.ts";

/** The buffer without its body, and where that goes: up to its end. */
export interface EncodedRequest {
  readonly bytes: Buffer;
  readonly bodyAt: number;
}

/** Writes all but the body, which is yet to be copied or read into its place. */
export function encodeRequest(
  codec: "json" | "proto",
  context: RequestContext,
  bodyLength: number,
): EncodedRequest {
  const coded = codec === "json" ? jsonContext(context) : protoContext(context);
  const length = typeof coded === "string" ? Buffer.byteLength(coded) : coded.byteLength;
  const bytes = Buffer.allocUnsafe(headerLength(1) + length + bodyLength);
  const flags = codec === "json" ? JSON_CODEC : PROTO_CODEC;
  const at = writeHeader(bytes, 0, flags, [length], length + bodyLength);
  if (typeof coded !== "string") bytes.set(coded, at);
  else if (length === coded.length) bytes.write(coded, at, "latin1");
  else bytes.write(coded, at);
  return { bytes, bodyAt: at + length };
}

/** Puts a body that is in memory in its place; false for one in a file, which {@linkcode readBody} reads. */
export function placeBody({ bytes, bodyAt }: EncodedRequest, { source }: FrameBody): boolean {
  if (!(source instanceof Uint8Array)) return false;
  bytes.set(source, bodyAt);
  return true;
}

/** Reads the body's file into its place. Fails with `BODY_UNREADABLE` (503). */
export async function readBody({ bytes, bodyAt }: EncodedRequest, path: string): Promise<void> {
  try {
    const file = await open(path);
    try {
      for (let at = bodyAt; at < bytes.byteLength;) {
        const { bytesRead } = await file.read(bytes, at, bytes.byteLength - at, at - bodyAt);
        if (bytesRead === 0) throw new Error("it is shorter than it was");
        at += bytesRead;
      }
    } finally {
      await file.close();
    }
  } catch (cause) {
    const text = cause instanceof Error ? cause.message : String(cause);
    throw new CoreError("BODY_UNREADABLE", `Cannot read the request body from its file: ${text}`, {
      status: 503,
      cause,
    });
  }
}
