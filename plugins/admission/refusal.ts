import type { Refusal } from "../../core/contracts/gates.ts";

const encoder = new TextEncoder();
const busy = encoder.encode("The server is busy; try again in a moment\n");
const enough = encoder.encode("Too many requests at a time; try again in a moment\n");
const late = encoder.encode("The request waited until its deadline\n");

/**
 * The answer to a request that was not let in: 504 when its own deadline passed, 499 for a client that has left (nobody
 * reads it), 429 for a key that has its share, else 503. The connection is kept.
 */
export function refusal(reason: Refusal, retryAfter: () => number): Response {
  if (reason === "cancelled") return new Response(null, { status: 499 });
  if (reason === "deadline") return new Response(late, { status: 504, headers: headersOf(late) });
  const [body, status] = reason === "key" ? [enough, 429] : [busy, 503];
  return new Response(body, { status, headers: { ...headersOf(body), "retry-after": String(retryAfter()) } });
}

function headersOf({ byteLength }: Uint8Array) {
  return { "content-type": "text/plain", "content-length": String(byteLength), "cache-control": "no-store" };
}
