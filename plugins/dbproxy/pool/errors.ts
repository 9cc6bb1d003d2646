import { CoreError } from "../../../core/error.ts";
import type { DialFailure } from "./options.ts";

const get = "Cannot get a database connection";

export function poolTimeout(max: number, waitedMs: number): CoreError {
  const what = max === 1 ? "the only connection is in use" : `all ${max} connections are in use`;
  return new CoreError("DB_POOL_TIMEOUT", `${get}: ${what}; waited ${seconds(waitedMs)}`, { status: 503 });
}

export function poolFull(max: number, queued: number): CoreError {
  const what = `all ${max} connections are in use and ${queued} clients wait already`;
  return new CoreError("DB_POOL_FULL", `${get}: ${what}`, { status: 503 });
}

export function poolDraining(): CoreError {
  return new CoreError("DB_POOL_DRAINING", `${get}: the server is shutting down`, { status: 503 });
}

export function dialTimeout(ms: number): CoreError {
  return new CoreError("DB_UNREACHABLE", `Cannot reach the database: no connection within ${seconds(ms)}`, {
    status: 503,
  });
}

/** What a dial threw, as an error with a code. */
export function dialError(cause: unknown): CoreError {
  if (cause instanceof CoreError) return cause;
  const text = cause instanceof Error ? cause.message : String(cause);
  return new CoreError("DB_UNREACHABLE", `Cannot reach the database: ${text}`, { status: 503, cause });
}

/** What the server itself says no with, and may not say the next time. */
const busyCodes: ReadonlySet<string> = new Set(["DB_REFUSED"]);
/** What the server will say again, and what the proxy itself does not do for this want: nothing is wrong with the others. */
const finalCodes: ReadonlySet<string> = new Set(["DB_ACCESS_DENIED", "DB_AUTH_UNSUPPORTED", "DB_CHARSET"]);

/** Tells failures by `final: true` on the error, and by its code. */
export function classify(error: unknown): DialFailure {
  const { code, final } = Object(error) as { readonly code?: string; readonly final?: boolean };
  if (final === true || (code !== undefined && (finalCodes.has(code) || code.startsWith("DB_STATE_")))) return "final";
  return code !== undefined && busyCodes.has(code) ? "busy" : "unreachable";
}

function seconds(ms: number): string {
  return `${Math.round(ms / 100) / 10} s`;
}
