import type { Assignment } from "../sql/statement.ts";
import type { OkPacket, Trackers } from "../wire/packets.ts";
import { STATUS } from "../wire/status.ts";

/** Flags of a session at rest that has nothing open; any other says that more happened than a SET. */
const restful = STATUS.AUTOCOMMIT | STATUS.NO_BACKSLASH_ESCAPES | STATUS.ANSI_QUOTES;

/**
 * Variables whose reported value is no setting: it is stale, transient, or the session's own (timestamp, ids, counters); that
 * change how later SETs are read; or of which a SET changes a part only.
 */
const never: ReadonlySet<string> = new Set([
  "timestamp",
  "insert_id",
  "last_insert_id",
  "identity",
  "statement_id",
  "rand_seed1",
  "rand_seed2",
  "error_count",
  "warning_count",
  "gtid_next",
  "last_gtid",
  "gtid_domain_id",
  "gtid_seq_no",
  "server_id",
  "sql_log_bin",
  "sql_log_off",
  "skip_replication",
  "resultset_metadata",
  "collation_connection",
  "collation_database",
  "character_set_database",
  "default_collation_for_utf8mb4",
  "character_set_collations",
  "old",
  "old_mode",
  "optimizer_switch",
]);
const neverPrefix = /^(?:pseudo_|session_track_|debug|rbr_exec_mode|wsrep_)/;

/** `SET @@transaction_isolation = ...` is for the next transaction only. */
const transactional: ReadonlySet<string> = new Set([
  "transaction_isolation",
  "transaction_read_only",
  "tx_isolation",
  "tx_read_only",
]);

/** Flags to answer with where the text is answered from memory. */
export function restStatus(ok: OkPacket): number {
  return ok.status & restful;
}

/**
 * What a text of SETs did, when the server's report explains it wholly: by variable name, with `collation_connection` where
 * SET NAMES or `character_set_connection` implies it (the server is silent about it). Undefined when anything is left open.
 */
export function effect(
  text: string,
  assignments: readonly Assignment[],
  ok: OkPacket,
  trackers: Trackers,
  replayable: (name: string) => boolean,
): ReadonlyMap<string, string> | undefined {
  if (assignments.length === 0 || !trackers.stateChanged || !isQuiet(ok) || !isOnlyVariables(trackers)) {
    return undefined;
  }
  const reported = new Map(trackers.variables);
  const explained = new Set<string>();
  for (const assignment of assignments) {
    if (!explain(text, assignment, reported, explained, replayable)) return undefined;
  }
  const changes = new Map<string, string>();
  for (const [name, value] of reported) {
    if (!explained.has(name)) return undefined;
    changes.set(name, value);
  }
  const collation = impliedCollation(assignments, reported);
  if (collation !== undefined) changes.set("collation_connection", collation);
  return changes;
}

function isQuiet(ok: OkPacket): boolean {
  return ok.info === "" && ok.affectedRows === 0 && ok.insertId === 0 &&
    (ok.status & ~(restful | STATUS.SESSION_STATE_CHANGED)) === 0;
}

function isOnlyVariables(trackers: Trackers): boolean {
  return trackers.schema === undefined && trackers.characteristics === undefined &&
    trackers.transaction === undefined && trackers.gtids === undefined;
}

/** Adds what the assignment accounts for; false when the report does not bear it out. */
function explain(
  text: string,
  { name, value }: Assignment,
  reported: ReadonlyMap<string, string>,
  explained: Set<string>,
  replayable: (name: string) => boolean,
): boolean {
  // DEFAULT is the global value of the moment. SET CHARACTER SET takes the connection's charset from the default schema.
  if (name === "character_set" || /^\s*default\s*$/i.test(value)) return false;
  if (name === "names") {
    for (const variable of ["character_set_client", "character_set_connection", "character_set_results"]) {
      if (!reported.has(variable) || !replayable(variable)) return false;
      explained.add(variable);
    }
    explained.add("collation_connection");
    return true;
  }
  if (never.has(name) || neverPrefix.test(name) || !replayable(name) || !reported.has(name)) return false;
  if (transactional.has(name) && !/\b(?:session|local)\b/i.test(text)) return false;
  explained.add(name);
  if (name === "character_set_connection") explained.add("collation_connection");
  return true;
}

/** What the last assignment that has a say makes of `collation_connection`; which collation a charset implies is not known here. */
function impliedCollation(
  assignments: readonly Assignment[],
  reported: ReadonlyMap<string, string>,
): string | undefined {
  if (reported.has("collation_connection")) return undefined;
  const last = assignments.findLast(({ name }) => name === "names" || name === "character_set_connection");
  if (last === undefined) return undefined;
  if (last.collation !== undefined) return last.collation.toLowerCase();
  return `${last.name}:${reported.get("character_set_connection")}`;
}
