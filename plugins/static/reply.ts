/** What is said about a representation: status, headers, and which of its bytes. @module */
import { randomUUID } from "node:crypto";
import { type HeaderReader, precondition, rangeApplies } from "./conditions.ts";
import { lengthOf, type Piece } from "./file_body.ts";
import { formatHttpDate } from "./http_date.ts";
import { parseRange, type Span } from "./range.ts";
import type { Variant } from "./variant.ts";

export interface Reply {
  readonly status: 200 | 206 | 304 | 412 | 416;
  readonly headers: Record<string, string>;
  /** The body; empty where the status has none. */
  readonly pieces: readonly Piece[];
}

/** What the variant does not tell itself. */
export interface Facts {
  /** The media type of the file, whatever encoding it is sent in. */
  readonly type: string;
  readonly cacheControl: string | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Answers a GET or HEAD for a file that exists. */
export function reply(method: string, asked: HeaderReader, variant: Variant, facts: Facts): Reply {
  const headers: Record<string, string> = {
    etag: variant.etag,
    "last-modified": formatHttpDate(variant.lastModified),
    "x-content-type-options": "nosniff",
  };
  if (facts.cacheControl !== undefined) headers["cache-control"] = facts.cacheControl;
  if (variant.varies) headers["vary"] = "Accept-Encoding";

  const verdict = precondition(asked, variant, facts.now);
  // A refusal is about the request, not something to keep.
  if (verdict === 412) return { status: 412, headers: { etag: variant.etag }, pieces: [] };
  if (verdict === 304) return { status: 304, headers, pieces: [] };

  headers["accept-ranges"] = "bytes";
  const { size } = variant.file;
  // Range means something for GET only (RFC 9110, 14.2).
  const range = method === "GET" ? asked.get("range") : null;
  const wanted = range !== null && rangeApplies(asked.get("if-range"), variant, facts.now)
    ? parseRange(range, size)
    : "whole";
  if (wanted === "unsatisfiable") {
    return { status: 416, headers: withLength({ "content-range": `bytes */${size}` }, []), pieces: [] };
  }

  headers["content-type"] = facts.type;
  if (variant.encoding) headers["content-encoding"] = variant.encoding.name;
  if (wanted === "whole") {
    const pieces = [{ start: 0, end: size }];
    return { status: 200, headers: withLength(headers, pieces), pieces };
  }
  if (wanted.length === 1) {
    headers["content-range"] = contentRange(wanted[0] as Span, size);
    return { status: 206, headers: withLength(headers, wanted), pieces: wanted };
  }
  const boundary = randomUUID();
  headers["content-type"] = `multipart/byteranges; boundary=${boundary}`;
  const pieces = multipart(wanted, size, facts.type, boundary);
  return { status: 206, headers: withLength(headers, pieces), pieces };
}

function withLength(headers: Record<string, string>, pieces: readonly Piece[]): Record<string, string> {
  headers["content-length"] = String(lengthOf(pieces));
  return headers;
}

function contentRange(span: Span, size: number): string {
  return `bytes ${span.start}-${span.end - 1}/${size}`;
}

function multipart(spans: readonly Span[], size: number, type: string, boundary: string): Piece[] {
  const text = new TextEncoder();
  const pieces = spans.flatMap((span, i): Piece[] => {
    const before = i === 0 ? "" : "\r\n";
    const head = `${before}--${boundary}\r\nContent-Type: ${type}\r\nContent-Range: ${
      contentRange(span, size)
    }\r\n\r\n`;
    return [text.encode(head), span];
  });
  pieces.push(text.encode(`\r\n--${boundary}--\r\n`));
  return pieces;
}
