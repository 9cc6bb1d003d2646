/**
 * Which session variables may be set again, from a value that was reported, on another connection with the same effect.
 *
 * @module
 */

const NEVER: ReadonlyMap<string, string> = new Map(Object.entries({
  timestamp: "setting it stops the clock, and DEFAULT is reported as 1.000000",
  insert_id: "of the next INSERT only",
  last_insert_id: "of the last INSERT",
  identity: "another name of last_insert_id",
  rand_seed1: "used up by the next RAND(), and not readable",
  rand_seed2: "used up by the next RAND(), and not readable",
  error_count: "of the last statement",
  warning_count: "of the last statement",
  statement_id: "of the statement",
  gtid_next: "of the next transaction",
  gtid_seq_no: "of the next transaction",
  gtid_domain_id: "steers the binary log",
  gtid_executed: "not the session's",
  gtid_owned: "of the transaction",
  server_id: "steers the binary log",
  last_gtid: "of the last transaction",
  in_transaction: "of the transaction",
  in_predicate_ordering: "internal",
  sql_log_bin: "steers the binary log, and needs a privilege",
  sql_log_off: "needs a privilege",
  binlog_format: "steers the binary log",
  binlog_row_image: "steers the binary log",
  binlog_direct_non_transactional_updates: "steers the binary log",
  transaction_write_set_extraction: "steers the binary log",
  skip_replication: "steers the binary log",
  skip_parallel_replication: "steers the binary log",
  replica_skip_counter: "steers replication",
  default_master_connection: "steers replication",
  original_commit_timestamp: "steers the binary log",
  original_server_version: "steers the binary log",
  immediate_server_version: "steers the binary log",
  next_commit_timestamp: "internal",
  wsrep_on: "steers the cluster",
  wsrep_osu_method: "steers the cluster",
  wsrep_trx_fragment_size: "steers the cluster",
  resultset_metadata: "changes the shape of replies",
  proxy_user: "of the login",
  external_user: "of the login",
  max_allowed_packet: "read only in a session",
  character_set_client_handshake: "of the login",
  require_row_format: "internal, can only be switched on",
  show_create_table_skip_secondary_engine: "internal",
  profiling: "switches a recording on that holds the session's statements",
  profiling_history_size: "empties the session's recording",
}));

const FAMILIES: readonly (readonly [prefix: string, reason: string])[] = [
  ["pseudo_", "the server's own tools set it, and some values change what others see of the session"],
  ["session_track_", "the proxy's own trackers depend on it"],
  ["debug", "of a debug build; some values stop the server"],
  ["dbug", "of a debug build"],
  ["wsrep_gtid_", "steers the cluster"],
];

/** Why a variable is never set again from a report; undefined when it may be. `name` in any case. */
export function whyNotReplayable(name: string, _server: "mysql" | "mariadb"): string | undefined {
  const lower = name.toLowerCase();
  const reason = NEVER.get(lower);
  if (reason !== undefined) return reason;
  if (lower.endsWith("_dynamic_privileges")) return "needs a privilege";
  return FAMILIES.find(([prefix]) => lower.startsWith(prefix))?.[1];
}

/** Whether a reported value of the variable may be set again on another connection with the same effect. */
export function isReplayable(name: string, server: "mysql" | "mariadb"): boolean {
  return whyNotReplayable(name, server) === undefined;
}
