import type { BulkheadDenialReason } from "./store.ts";

const encoder = new TextEncoder();
const busy = encoder.encode("Too many requests for this at a time; try again in a moment\n");
const overtime = encoder.encode("The request waited until its deadline\n");

/**
 * The answer to a request that a bulkhead did not let in: 504 when its own deadline passed (`late`), 499 for a client that has left
 * (nobody reads it), 429 where each key has its own permits, else 503. The connection is kept.
 */
export function refusal(reason: BulkheadDenialReason | "late", retryAfterMs: number, keyed: boolean): Response {
  if (reason === "cancelled") return new Response(null, { status: 499 });
  if (reason === "late") return new Response(overtime, { status: 504, headers: headersOf(overtime) });
  const own = keyed && (reason === "full" || reason === "queue_full" || reason === "timeout");
  return new Response(busy, {
    status: own ? 429 : 503,
    headers: { ...headersOf(busy), "retry-after": String(Math.max(Math.ceil(retryAfterMs / 1000), 1)) },
  });
}

function headersOf({ byteLength }: Uint8Array) {
  return { "content-type": "text/plain", "content-length": String(byteLength), "cache-control": "no-store" };
}
