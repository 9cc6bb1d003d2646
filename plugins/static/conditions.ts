/** Conditional requests (RFC 9110, 13), for GET and HEAD. @module */
import { parseHttpDate } from "./http_date.ts";

/** What reads a request header; `Headers` will do. */
export interface HeaderReader {
  get(name: string): string | null;
}

/** What a representation can be recognised by. */
export interface Validators {
  /** Strong, with its quotes. */
  readonly etag: string;
  /** In ms, whole seconds. */
  readonly lastModified: number;
}

const TAG = /[ \t,]*(W\/)?("[\x21\x23-\x7e\x80-\xff]*")[ \t]*(?:,|$)/y;

/** Whether a list of entity tags names this one. A list that is cut or broken counts up to where it breaks. */
function names(list: string, etag: string, compare: "weak" | "strong"): boolean {
  if (list.trim() === "*") return true;
  TAG.lastIndex = 0;
  for (let m = TAG.exec(list); m !== null; m = TAG.exec(list)) {
    if (m[2] === etag && (compare === "weak" || m[1] === undefined)) return true;
    if (TAG.lastIndex >= list.length) break;
  }
  return false;
}

/**
 * Evaluates the preconditions in the order of RFC 9110, 13.2.2. A date that cannot be read is no condition.
 *
 * @param now ms since 1970, to read two-digit years by
 * @returns `200` when the request is to be answered as if it had no condition
 */
export function precondition(headers: HeaderReader, current: Validators, now: number): 200 | 304 | 412 {
  const match = headers.get("if-match");
  if (match !== null) {
    if (!names(match, current.etag, "strong")) return 412;
  } else {
    const unmodified = date(headers.get("if-unmodified-since"), now);
    if (unmodified !== undefined && current.lastModified > unmodified) return 412;
  }
  const noneMatch = headers.get("if-none-match");
  if (noneMatch !== null) return names(noneMatch, current.etag, "weak") ? 304 : 200;
  const modified = date(headers.get("if-modified-since"), now);
  return modified !== undefined && current.lastModified <= modified ? 304 : 200;
}

/**
 * Whether `Range` may be honoured: there is no `If-Range`, or it names this very representation. A date does only when
 * it is exact and old enough that nothing can have changed within its second.
 */
export function rangeApplies(ifRange: string | null, current: Validators, now: number): boolean {
  if (ifRange === null) return true;
  const value = ifRange.trim();
  if (value.startsWith('"')) return value === current.etag;
  return date(value, now) === current.lastModified && now - current.lastModified >= 2000;
}

function date(text: string | null, now: number): number | undefined {
  return text === null ? undefined : parseHttpDate(text.trim(), now);
}
