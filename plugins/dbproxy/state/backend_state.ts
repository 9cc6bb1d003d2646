import type { Residue } from "../sql/statement.ts";
import type { Settings } from "./settings.ts";

/** What is known of a backend's session. */
export interface BackendState {
  readonly settings: Settings;
  /** Why it is not known to differ from a new session in settings, schema and options only; undefined when it is. */
  readonly dirty: Residue | undefined;
  /** Default schema; undefined when none was ever chosen; empty when it must be chosen again. A reset keeps it. */
  readonly schema: string | undefined;
  readonly multiStatements: boolean;
  /** Whether a client's statement has run since the session was new or reset: row counts, found rows and the like are its. */
  readonly used: boolean;
}

/** What a session needs of its backend. */
export interface WantedState {
  readonly settings: Settings;
  /** Undefined only for a session that has no default schema: a backend that has one never fits it. */
  readonly schema: string | undefined;
  readonly multiStatements: boolean;
  /** Its first statement reads what an earlier one left: what a session before left must not be seen. */
  readonly fresh: boolean;
}
