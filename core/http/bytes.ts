/** Where a response keeps its whole body, so that a listener need not read it back through a stream. */
const key = Symbol.for("fairlead.bytes");

/** A response whose whole body is at hand. */
export function bytesResponse(bytes: Uint8Array<ArrayBuffer> | null, init: ResponseInit): Response {
  const response = new Response(bytes, init);
  if (bytes !== null) Object.defineProperty(response, key, { value: bytes });
  return response;
}

/** The whole body of a response made by {@linkcode bytesResponse}. */
export function bytesOf(response: Response): Uint8Array | undefined {
  return (response as unknown as Record<symbol, Uint8Array | undefined>)[key];
}
