import type { Counter, Histogram, Meter } from "../../../core/contracts/meter.ts";
import type { Residue } from "../sql/statement.ts";
import type { PoolReport } from "./report.ts";

export const refusalReasons = ["full", "timeout", "draining", "down", "cancelled"] as const;
/** Why a session got no backend: the line was full, its wait too long, the server drains or cannot be reached, the client left. */
export type RefusalReason = typeof refusalReasons[number];

export const closeReasons = [
  "lifetime",
  "idle",
  "error",
  "role",
  "unread",
  "reset",
  "kind",
  "gone",
  "client",
  "drain",
] as const;
/**
 * Why a backend was closed. `error`: it erred in a session; `role`: what a reset cannot undo; `unread`: something was left in
 * the pipe; `reset`: its reset failed; `kind`: room for one of another kind; `gone`: the server closed it; `client`: its client
 * vanished in mid-statement.
 */
export type CloseReason = typeof closeReasons[number];

export const dialFailures = ["refused", "timeout", "auth", "tls", "too_many", "other"] as const;
export type DialFailure = typeof dialFailures[number];

/** The counters of one database, resolved once. */
export interface DbCounts {
  /** Seconds from asking for a backend to having it. */
  readonly wait: Histogram;
  readonly refused: Readonly<Record<RefusalReason, Counter>>;
  readonly resets: Counter;
  readonly resetsSkipped: Counter;
  readonly resetsFailed: Counter;
  readonly residue: Readonly<Record<Residue, Counter>>;
  readonly dials: Counter;
  readonly dialsFailed: Readonly<Record<DialFailure, Counter>>;
  readonly closed: Readonly<Record<CloseReason, Counter>>;
  /** Counts a command of a client, by its first byte. */
  command(byte: number): void;
  /** Counts an error packet that the server sent, by its code. */
  error(code: number): void;
  /** Seconds a statement took. */
  readonly seconds: Histogram;
  readonly slow: Counter;
  readonly fromClients: Counter;
  readonly toClients: Counter;
  /** SETs, and reads of variables, that the proxy answered itself. */
  readonly learnedSets: Counter;
  readonly learnedReads: Counter;
  /** Counts a refused login, by the name of the plugin. */
  authFailed(plugin: string): void;
}

/** Registers the metrics; `read` is asked when they are scraped. Call the result once for each database. */
export function dbMetrics(
  _meter: Meter,
  _read: () => Iterable<{ readonly name: string; pool(): PoolReport }>,
): (db: string) => DbCounts {
  throw new Error("not written yet");
}
