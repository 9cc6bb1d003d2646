import { createHash } from "node:crypto";
import { pageFiles } from "./page_files.ts";

/** Something to serve. */
export interface PageFile {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

const types: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  css: "text/css; charset=utf-8",
  // As its types are taken out, it is JavaScript.
  ts: "text/javascript; charset=utf-8",
};

/**
 * Nothing but what is served here may run, be shown or be asked, and no other page may frame this one. `default-src` does not
 * speak for the last three.
 */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const common = {
  // The browser asks each time whether it has changed: a new version is seen at once.
  "cache-control": "no-cache",
  "content-security-policy": policy,
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
};

/** The document, for metrics at `metricsPath`, and its parts by the paths where it looks for them. */
export function dashboardFiles(metricsPath: string): ReadonlyMap<string, PageFile> {
  return new Map(
    Object.entries(pageFiles).map(([name, text]) => {
      const page = name.endsWith(".html");
      // Relative, so that the page also works where a proxy shows it below a path of its own.
      const body = page ? text.replaceAll('"./metrics"', `".${metricsPath}"`) : text;
      const etag = `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`;
      const type = types[name.slice(name.lastIndexOf(".") + 1)]!;
      return [page ? "/" : `/-/dashboard/${name}`, { body, headers: { ...common, "content-type": type, etag } }];
    }),
  );
}

/** Answers a request for a file: 304 when the client has this very one (RFC 9110, 13.1.2). */
export function answerFile({ body, headers }: PageFile, ifNoneMatch: string | undefined): Response {
  const known = ifNoneMatch?.split(",").map((tag) => tag.trim().replace(/^W\//, "")) ?? [];
  if (known.includes("*") || known.includes(headers["etag"]!)) return new Response(null, { status: 304, headers });
  return new Response(body, { headers });
}
