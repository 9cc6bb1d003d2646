import { type Awaitable, type Token, token } from "../plugin.ts";
import type { BulkheadDenialReason } from "./bulkheads.ts";

/** A statement that is about to run. Members may be getters: what no cap asks for costs nothing. */
export interface CappedStatement {
  /** The session's default schema. */
  readonly schema: string | undefined;
  /** As the statistics have it; undefined where the statement's text is not known. */
  readonly digest: { readonly hash: string; readonly text: string } | undefined;
}

/** Who waits for a permit of a statement's, and how. */
export interface StatementWait {
  /** The session: it does one thing at a time. Operators are shown its `db`, `user` and `connection`. */
  readonly owner: object;
  /** False: now or never, whatever the longest wait is. */
  readonly patient: boolean;
  /** Ends the wait. */
  readonly signal: AbortSignal;
}

/** Leave to run a statement. */
export interface StatementPermit {
  readonly granted: true;
  /** Gives it back; never throws. The second time nothing happens. */
  release(): void;
}

/** No leave. */
export interface StatementRefusal {
  readonly granted: false;
  /** The bulkhead that gave none. */
  readonly bulkhead: string;
  readonly reason: BulkheadDenialReason;
  /** Statements there may be at a time. */
  readonly limit: number;
  /** In ms. */
  readonly waitedMs: number;
}

/** What a cap answers, told apart by `granted`. */
export type StatementAnswer = StatementPermit | StatementRefusal;

/** A cap on how many statements run at the same time. */
export interface StatementCap {
  /** A permit or a refusal, within the call where that can be. Never throws, never rejects. */
  enter(statement: CappedStatement, wait: StatementWait): Awaitable<StatementAnswer>;
}

/** The caps that concern the statements of one session. */
export interface SessionCaps {
  /** The cap on a statement; undefined when it has none. */
  of(statement: CappedStatement): StatementCap | undefined;
}

/** The caps that concern one database. */
export interface DatabaseCaps {
  /** Those for a user's sessions; undefined when there are none, so that such a session need not ask again. */
  of(user: string): SessionCaps | undefined;
}

/** Caps on statements, from whoever has them configured, for whoever passes statements on. */
export interface StatementCaps {
  /**
   * Called once, at set-up, by whoever passes on the statements of these databases. Returns the caps of each that has some.
   *
   * @throws CoreError `BULKHEAD_DATABASE` for a cap on a database that is none of them
   */
  serve(databases: readonly string[]): ReadonlyMap<string, DatabaseCaps>;
}

/** The service of the bulkhead plugin. */
export const StatementCaps: Token<StatementCaps> = token("statement-caps@1");
