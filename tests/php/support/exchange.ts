/**
 * An exchange made from the text of a request, as far as the CGI variables need one.
 *
 * @module
 */
import type { Exchange } from "../../../core/exchange.ts";

export interface Ends {
  readonly clientPort?: number;
  readonly localPort: number;
  readonly scheme?: "http" | "https";
}

export function exchangeOf(request: string, ends: Ends): Exchange & { readonly sentBody: Uint8Array } {
  const [head = "", body = ""] = request.split("\r\n\r\n", 2);
  const [line = "", ...fields] = head.split("\r\n");
  const [method = "", target = "", protocol = ""] = line.split(" ");
  const headers = new Headers();
  for (const field of fields) {
    const name = field.slice(0, field.indexOf(":"));
    const value = field.slice(name.length + 1).trim();
    const old = headers.get(name);
    headers.set(name, old === null ? value : old + (name.toLowerCase() === "cookie" ? "; " : ", ") + value);
  }
  const [rawPath = "", query = ""] = [
    target.split("?", 1)[0],
    target.includes("?") ? target.slice(target.indexOf("?") + 1) : "",
  ];
  const length = headers.get("content-length");
  const facts = {
    method,
    target,
    protocol,
    headers,
    query,
    path: decodeURIComponent(rawPath).replace(/\/{2,}/g, "/"),
    length: length === null ? 0 : Number(length),
    client: { address: "127.0.0.1", port: ends.clientPort ?? 40_000 },
    local: { address: "127.0.0.1", port: ends.localPort },
    scheme: ends.scheme ?? "http",
    host: headers.get("host") ?? "",
    sentBody: new TextEncoder().encode(body),
  };
  return facts as unknown as ReturnType<typeof exchangeOf>;
}
