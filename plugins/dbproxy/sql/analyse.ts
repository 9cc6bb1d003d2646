import type { SqlMode, Statement } from "./statement.ts";

/** Finds out what a text of SQL does to its session. */
export function analyse(_sql: Uint8Array, _mode: SqlMode): Statement {
  throw new Error("not yet");
}
