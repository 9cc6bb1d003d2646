/**
 * Responses that remember where their body comes from, so that a listener may send it in a better way than by reading
 * a stream. Read as a `Response` they behave like any other; one that was wrapped in another response has merely
 * forgotten.
 *
 * @module
 */
const bytesKey = Symbol.for("fairlead.bytes");
const fileKey = Symbol.for("fairlead.file");

/** Bun sends a response with its bytes as they are; only the other listener reads it back. */
const remembers = !("Bun" in globalThis);

/** The chunks as one; a single one as it is. */
export function joinBytes(chunks: readonly Uint8Array<ArrayBuffer>[]): Uint8Array<ArrayBuffer> {
  if (chunks.length === 1) return chunks[0]!;
  const whole = new Uint8Array(totalBytes(chunks));
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return whole;
}

export function totalBytes(chunks: readonly Uint8Array[]): number {
  let total = 0;
  for (const chunk of chunks) total += chunk.byteLength;
  return total;
}

/** A response whose whole body is at hand. */
export function bytesResponse(bytes: Uint8Array<ArrayBuffer> | null, init: ResponseInit): Response {
  const response = new Response(bytes, init);
  if (bytes !== null && remembers) Object.defineProperty(response, bytesKey, { value: bytes });
  return response;
}

/** The whole body of a response made by {@linkcode bytesResponse}. */
export function bytesOf(response: Response): Uint8Array | undefined {
  return (response as unknown as Record<symbol, Uint8Array | undefined>)[bytesKey];
}

/** The bytes of an open regular file from `start` up to, not including, `end`. */
export interface FileSpan {
  readonly fd: number;
  readonly start: number;
  readonly end: number;
  /**
   * Makes the caller the owner of the descriptor, who closes it; the stream is then never read. False when the stream
   * has been read from or has ended, or when the file no longer has all of these bytes: then the stream is the answer.
   */
  take(): boolean;
}

/** A response that streams a span of a file, which a listener may send by itself after {@linkcode FileSpan.take}. */
export function fileResponse(stream: ReadableStream<Uint8Array>, file: FileSpan, init: ResponseInit): Response {
  const response = new Response(stream, init);
  Object.defineProperty(response, fileKey, { value: file });
  return response;
}

/** The file behind a response made by {@linkcode fileResponse}. */
export function fileOf(response: Response): FileSpan | undefined {
  return (response as unknown as Record<symbol, FileSpan | undefined>)[fileKey];
}
