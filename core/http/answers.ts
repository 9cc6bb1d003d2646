import { bytesResponse } from "./bytes.ts";

const encoder = new TextEncoder();

/** Reason phrases of the statuses the core itself answers with. */
const reasons: Readonly<Record<number, string>> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Request Timeout",
  413: "Content Too Large",
  421: "Misdirected Request",
  431: "Request Header Fields Too Large",
  499: "Client Closed Request",
  500: "Internal Server Error",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
};

/** A short plain-text answer that tells nothing about the server's insides. */
export function answer(status: number, headers: Readonly<Record<string, string>> = {}): Response {
  const body = encoder.encode(`${status} ${reasons[status] ?? "Error"}\n`);
  const length = String(body.byteLength);
  return bytesResponse(body, {
    status,
    headers: { "content-type": "text/plain; charset=utf-8", "content-length": length, ...headers },
  });
}

/** An answer after which the connection cannot be used: the rest of the request was not read. */
export function refuse(status: number, headers: Readonly<Record<string, string>> = {}): Response {
  return answer(status, { connection: "close", ...headers });
}
