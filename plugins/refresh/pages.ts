import type { Exchange } from "../../core/exchange.ts";

/** Where browsers get the script. What stands beside it starts the same. */
export const scriptPath = "/-/fairlead/refresh.js";
/** Where the script hears of changes. */
export const eventsPath = "/-/fairlead/refresh.events";

type Headed = Pick<Exchange, "method" | "protocol" | "headers">;

/** Whether a browser asks for a page to show, and not a script for a part of one. */
export function asksForPage({ method, protocol, headers }: Headed): boolean {
  if (method !== "GET" || protocol === "HTTP/1.0" || headers.has("range") || headers.has("x-requested-with")) {
    return false;
  }
  // Browsers say what for over TLS and to localhost only.
  const dest = headers.get("sec-fetch-dest");
  if (dest !== null && !/^(?:document|iframe|frame)$/.test(dest)) return false;
  return /\btext\/html\b/i.test(headers.get("accept") ?? "");
}

/** Whether a response is a page that bytes can be appended to. Pages that tell of an error are: they want to be mended. */
export function isPage({ status, headers }: Response): boolean {
  if (status < 200 || (status >= 300 && status < 400) || status === 204 || status === 205 || status === 206) {
    return false;
  }
  if (headers.has("content-encoding") || /^\s*attachment\b/i.test(headers.get("content-disposition") ?? "")) {
    return false;
  }
  const type = headers.get("content-type") ?? "";
  return /^\s*text\/html\s*(?:;|$)/i.test(type) && !/charset\s*=\s*"?utf-?(?:16|32)/i.test(type);
}

/** What is appended to a page: the script, allowed by the nonce of the page's own policy where that has one. */
export function scriptTag(at: string, policy: string | null): string {
  const nonce = /(?:script-src(?:-elem)?|default-src)\s[^;,]*'nonce-([A-Za-z0-9+/_=-]+)'/i.exec(policy ?? "")?.[1];
  const allowed = nonce === undefined ? "" : ` nonce="${nonce}"`;
  return `\n<script src="${scriptPath}" data-at="${at}"${allowed} async></script>\n`;
}
