/**
 * A request as FastCGI records. Pure.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { CoreError } from "../../../core/error.ts";
import { encodeParams, packParams } from "./params.ts";
import { BEGIN_REQUEST, HEADER, MAX_CONTENT, PARAMS, STDIN, writeHeader } from "./record.ts";

/** A body that is not in memory. Its length must be known: PHP reads `CONTENT_LENGTH` bytes and no chunked coding. */
export interface BodyStream {
  /** Bytes. */
  readonly length: number;
  readonly stream: ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;
}

export interface FcgiRequest {
  /**
   * Encoded pairs ({@linkcode encodeParams}), concatenated in this order. `CONTENT_LENGTH` is not among them: it is added
   * from `body`, so that the two cannot disagree (a child waits for ever for bytes that were promised).
   */
  readonly params: readonly Uint8Array[];
  /** Absent when the request has no body; an empty one is sent as `CONTENT_LENGTH=0`. */
  readonly body?: Uint8Array | BodyStream | undefined;
}

/** A body up to this size (bytes) is sent with the rest of the request in one write. */
const ONE_WRITE: number = MAX_CONTENT;

/** What {@linkcode encodeRequest} made. */
export interface EncodedRequest {
  /** A buffer of its own: sockets may keep it until it is written. */
  readonly bytes: Buffer;
  /** The body that is still to be sent as STDIN records; undefined when all of the request is in `bytes`. */
  readonly rest: BodyStream | undefined;
}

/**
 * Encodes BEGIN_REQUEST with KEEP_CONN, PARAMS and, when the body is small and in memory, STDIN.
 *
 * @throws CoreError `PHP_PARAMS_TOO_LARGE` (431), `PHP_LENGTH_REQUIRED` (411) for a stream without a length.
 */
export function encodeRequest(id: number, request: FcgiRequest): EncodedRequest {
  const { body } = request;
  const length = body === undefined ? 0 : body instanceof Uint8Array ? body.byteLength : body.length;
  if (!Number.isSafeInteger(length) || length < 0) {
    throw new CoreError(
      "PHP_LENGTH_REQUIRED",
      `Expected the length of the request body to be known before it is sent to PHP, found ${length}`,
      { status: 411 },
    );
  }
  const blobs = body === undefined ? request.params : [...request.params, contentLength(length)];
  const records = packParams(blobs);
  const inline = body instanceof Uint8Array && length <= ONE_WRITE ? body : undefined;
  const whole = body === undefined || inline !== undefined;
  let size = HEADER + 8 + HEADER;
  for (const record of records) for (const piece of record) size += piece.byteLength;
  size += records.length * HEADER;
  if (whole) size += HEADER + (length > 0 ? HEADER + length : 0);

  const out = Buffer.allocUnsafe(size);
  let at = writeHeader(out, 0, BEGIN_REQUEST, id, 8);
  out.fill(0, at, at + 8);
  out[at + 1] = 1; // role: responder
  out[at + 2] = 1; // flags: keep the connection
  at += 8;
  for (const record of records) {
    let content = 0;
    for (const piece of record) content += piece.byteLength;
    at = writeHeader(out, at, PARAMS, id, content);
    for (const piece of record) {
      out.set(piece, at);
      at += piece.byteLength;
    }
  }
  at = writeHeader(out, at, PARAMS, id, 0);
  if (whole) {
    if (inline !== undefined && length > 0) {
      at = writeHeader(out, at, STDIN, id, length);
      out.set(inline, at);
      at += length;
    }
    writeHeader(out, at, STDIN, id, 0);
  }
  return { bytes: out, rest: whole ? undefined : body instanceof Uint8Array ? inMemory(body) : body };
}

function contentLength(length: number): Uint8Array {
  return encodeParams([["CONTENT_LENGTH", String(length)]]);
}

function inMemory(body: Uint8Array): BodyStream {
  return {
    length: body.byteLength,
    stream: {
      async *[Symbol.asyncIterator]() {
        yield body;
      },
    },
  };
}
