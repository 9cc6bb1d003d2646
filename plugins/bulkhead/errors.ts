import { CoreError } from "../../core/error.ts";
import type { BulkheadDenial, BulkheadDenialReason } from "./store.ts";

/** What a denial is as an error: its code, its HTTP status and what happened. */
const denials: Readonly<Record<BulkheadDenialReason, readonly [code: string, status: number, what: string]>> = {
  full: ["BULKHEAD_FULL", 503, "all its permits are out"],
  queue_full: ["BULKHEAD_QUEUE_FULL", 503, "its line is full"],
  timeout: ["BULKHEAD_TIMEOUT", 503, "no permit came free in time"],
  cancelled: ["BULKHEAD_CANCELLED", 499, "the wait was cancelled"],
  deadlock: [
    "BULKHEAD_DEADLOCK",
    503,
    "those who hold it wait for what the caller holds; take bulkheads in one order everywhere",
  ],
  draining: ["BULKHEAD_DRAINING", 503, "it takes nobody any more"],
  unavailable: ["BULKHEAD_UNAVAILABLE", 503, "its store cannot be reached"],
};

/** There is no permit. `code` is `BULKHEAD_` and the reason in capitals. */
export class BulkheadDenied extends CoreError {
  readonly bulkhead: string;
  readonly reason: BulkheadDenialReason;
  /** How long it waited, in ms. */
  readonly waitedMs: number;
  /** Milliseconds after which it may be worth to ask again; 0 when nothing is known. */
  readonly retryAfterMs: number;

  constructor(bulkhead: string, denial: Omit<BulkheadDenial, "granted">) {
    const [code, status, what] = denials[denial.reason];
    super(code, `Cannot enter bulkhead ${bulkhead}: ${what}`, { status, cause: denial.cause });
    this.bulkhead = bulkhead;
    this.reason = denial.reason;
    this.waitedMs = denial.waitedMs;
    this.retryAfterMs = denial.retryAfterMs;
  }
}

/** A denial as an error. */
export function denied(bulkhead: string, denial: Omit<BulkheadDenial, "granted">): BulkheadDenied {
  return new BulkheadDenied(bulkhead, denial);
}

/** A name that no bulkhead can have. */
export function badName(name: string): CoreError {
  return new CoreError(
    "BULKHEAD_NAME",
    `Expected the name of a bulkhead to be 1 to 128 of A-Z a-z 0-9 _ . : -, got ${shown(name)}`,
  );
}

/** A key that no bulkhead can have. */
export function badKey(name: string, key: string): CoreError {
  const what = key === "" ? "nothing" : shown(key);
  return new CoreError("BULKHEAD_KEY", `Expected a key of bulkhead ${name} to have 1 to 126 characters, got ${what}`);
}

/** A number of permits that no bulkhead can have. */
export function badLimit(name: string, limit: number): CoreError {
  return new CoreError(
    "BULKHEAD_LIMIT",
    `Expected the limit of bulkhead ${name} to be a whole number of at least 1, got ${limit}`,
  );
}

/** A length that no line can have. */
export function badQueue(name: string, maxQueue: number): CoreError {
  return new CoreError(
    "BULKHEAD_LIMIT",
    `Expected the longest line of bulkhead ${name} to be a whole number of at least 0, got ${maxQueue}`,
  );
}

/** More permits than there are, or no number of permits at all. */
export function badWeight(name: string, weight: number, limit: number): CoreError {
  return new CoreError(
    "BULKHEAD_WEIGHT",
    `Expected a weight from 1 to ${limit}, the limit of bulkhead ${name}, got ${weight}`,
  );
}

/** A time that no bulkhead can have. */
export function badTime(name: string, what: string, ms: number): CoreError {
  return new CoreError(
    "BULKHEAD_TIME",
    `Expected the ${what} of bulkhead ${name} to be in ms, of at most 24 days (a lease more than 0), got ${ms}`,
  );
}

/** A bulkhead without a limit, in the configuration or in the code. */
export function noLimit(name: string): CoreError {
  return new CoreError(
    "BULKHEAD_UNKNOWN",
    `Bulkhead ${name} has no limit: add [bulkhead.limits.${name}] with max_concurrent, or give maxConcurrent`,
  );
}

/** Statements of a database that is not there cannot be capped. */
export function unknownDatabase(db: string, databases: readonly string[]): CoreError {
  const all = databases.map((name) => `"${name}"`).join(", ");
  return new CoreError(
    "BULKHEAD_DATABASE",
    `[[bulkhead.statements]]: expected db to be one of ${all}, got ${shown(db)}`,
  );
}

/** Nor those of none. */
export function noDatabases(): CoreError {
  return new CoreError(
    "BULKHEAD_DATABASE",
    "[[bulkhead.statements]] caps statements that pass the database proxy, and there is none: add [db.mysql], or remove it",
  );
}

/** The permits are somebody else's by now. */
export function lostPermit(name: string): CoreError {
  return new CoreError("BULKHEAD_LOST", `The permits of bulkhead ${name} are lost: their lease has passed`);
}

/** Text in quotes, cut and without control characters: it may be a client's. */
function shown(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}...` : text);
}
