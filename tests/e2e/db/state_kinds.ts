/**
 * Everything a session of a MySQL server can leave behind, and how it is seen.
 *
 * @module
 */
import type { Kind } from "../../support/db_matrix.ts";

export interface StateKind {
  readonly name: string;
  /** What sets it. */
  readonly set: readonly string[];
  /** What shows it: the results of all of these, and the status flags after them. */
  readonly probe: readonly string[];
  /** The only server that has it. */
  readonly only?: Kind;
  /** The route that crashes MariaDB 10.11 itself, directly too: it is left out there. */
  readonly crashes?: string;
}

/** The tables and accounts the kinds need; `init` of the database. */
export function stateInit(kind: Kind): string[] {
  return [
    "CREATE TABLE test.t (id INT AUTO_INCREMENT PRIMARY KEY, a INT) ENGINE=InnoDB",
    "INSERT INTO test.t(a) VALUES (1), (2), (3)",
    "CREATE TABLE test.other (a INT) ENGINE=InnoDB",
    "CREATE TABLE test.fire (a INT) ENGINE=InnoDB",
    "CREATE DATABASE elsewhere",
    "CREATE ROLE r1",
    "GRANT r1 TO 'tester'@'127.0.0.1', 'tester'@'localhost'",
    ...(kind === "mariadb" ? ["CREATE SEQUENCE test.sq"] : ["SET GLOBAL log_bin_trust_function_creators=1"]),
  ];
}

const variable = (name: string, value: string): StateKind => ({
  name: `the variable ${name}`,
  set: [`SET SESSION ${name}=${value}`],
  probe: [`SELECT @@${name}`],
});

export const stateKinds: readonly StateKind[] = [
  variable("group_concat_max_len", "7"),
  variable("sql_mode", "'ANSI_QUOTES,NO_BACKSLASH_ESCAPES'"),
  variable("time_zone", "'+05:00'"),
  variable("autocommit", "0"),
  variable("sql_select_limit", "1"),
  variable("foreign_key_checks", "0"),
  variable("lc_time_names", "'de_DE'"),
  variable("wait_timeout", "77"),
  variable("insert_id", "500"),
  variable("last_insert_id", "77"),
  variable("collation_connection", "'latin1_bin'"),
  variable("character_set_results", "'latin1'"),
  variable("default_week_format", "3"),
  variable("sql_safe_updates", "1"),
  variable("profiling", "1"),
  {
    name: "several variables at once",
    set: ["SET @a=1, SESSION unique_checks=0"],
    probe: ["SELECT @a, @@unique_checks"],
  },
  { name: "a frozen clock", set: ["SET timestamp=1"], probe: ["SELECT @@timestamp<100"] },
  { name: "the seed of RAND()", set: ["SET rand_seed1=1, rand_seed2=1"], probe: ["SELECT RAND()<0.000001"] },
  { name: "a user variable", set: ["SET @a=1"], probe: ["SELECT @a"] },
  { name: "a user variable by SELECT INTO", set: ["SELECT 1 INTO @a"], probe: ["SELECT @a"] },
  { name: "a user variable assigned in a query", set: ["SELECT @a:=1"], probe: ["SELECT @a"] },
  { name: "SET NAMES", set: ["SET NAMES latin1"], probe: ["SELECT @@character_set_client, @@collation_connection"] },
  {
    name: "SET NAMES COLLATE",
    set: ["SET NAMES utf8mb4 COLLATE utf8mb4_bin"],
    probe: ["SELECT @@collation_connection"],
  },
  {
    name: "SET CHARACTER SET",
    set: ["SET CHARACTER SET latin1"],
    probe: ["SELECT @@character_set_client, @@character_set_results"],
  },
  { name: "the schema", set: ["USE elsewhere"], probe: ["SELECT DATABASE()"] },
  { name: "a role", set: ["SET ROLE r1"], probe: ["SELECT CURRENT_ROLE()"] },
  { name: "a temporary table", set: ["CREATE TEMPORARY TABLE tmp1 (a INT)"], probe: ["SELECT COUNT(*) FROM tmp1"] },
  {
    name: "a temporary table over a real one",
    set: ["CREATE TEMPORARY TABLE t (a INT)"],
    probe: ["SELECT COUNT(*) FROM t WHERE a<3"],
  },
  { name: "table locks", set: ["LOCK TABLES t WRITE"], probe: ["SELECT COUNT(*)>=0 FROM other"] },
  { name: "the global read lock", set: ["FLUSH TABLES WITH READ LOCK"], probe: ["INSERT INTO other VALUES (1)"] },
  {
    name: "a named lock",
    set: ["SELECT GET_LOCK('battery', 0)"],
    probe: ["SELECT IS_USED_LOCK('battery')<=>CONNECTION_ID()"],
  },
  {
    name: "a named lock by DO",
    set: ["DO GET_LOCK('battery', 0)"],
    probe: ["SELECT IS_USED_LOCK('battery')<=>CONNECTION_ID()"],
  },
  {
    name: "a transaction",
    set: ["BEGIN", "INSERT INTO other VALUES (99)"],
    probe: ["SELECT COUNT(*) FROM other WHERE a=99"],
  },
  {
    name: "a transaction that only reads",
    set: ["START TRANSACTION READ ONLY"],
    probe: ["INSERT INTO other VALUES (1)"],
  },
  { name: "an XA transaction", set: ["XA START 'x'"], probe: ["BEGIN", "ROLLBACK"] },
  {
    name: "the next transaction's access mode",
    set: ["SET TRANSACTION READ ONLY"],
    probe: ["INSERT INTO other VALUES (1)"],
    crashes: "a trigger",
  },
  {
    name: "every transaction's access mode",
    set: ["SET SESSION TRANSACTION READ ONLY"],
    probe: ["INSERT INTO other VALUES (1)"],
    crashes: "a trigger",
  },
  {
    name: "the isolation level",
    set: ["SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE"],
    probe: ["SHOW SESSION VARIABLES WHERE Variable_name IN ('tx_isolation', 'transaction_isolation')"],
  },
  {
    name: "a savepoint without a transaction",
    set: ["SET autocommit=0", "SAVEPOINT s"],
    probe: ["ROLLBACK TO SAVEPOINT s"],
  },
  { name: "the completion type", set: ["SET completion_type=1"], probe: ["COMMIT", "SELECT @@completion_type"] },
  { name: "a prepared statement of SQL", set: ["PREPARE kept FROM 'SELECT 1'"], probe: ["EXECUTE kept"] },
  { name: "a handler", set: ["HANDLER t OPEN"], probe: ["HANDLER t READ FIRST"] },
  { name: "the last insert id", set: ["INSERT INTO t(a) VALUES (9)"], probe: ["SELECT LAST_INSERT_ID()"] },
  { name: "a last insert id of one's own", set: ["SELECT LAST_INSERT_ID(78)"], probe: ["SELECT LAST_INSERT_ID()"] },
  {
    name: "a last insert id by UPDATE",
    set: ["UPDATE t SET a=LAST_INSERT_ID(a+40) WHERE id=1"],
    probe: ["SELECT LAST_INSERT_ID()>0"],
  },
  // MariaDB hands FOUND_ROWS() on to new connections by itself; on MySQL a new one has 0, but COM_RESET_CONNECTION keeps it.
  {
    name: "the found rows",
    set: ["SELECT SQL_CALC_FOUND_ROWS id FROM t LIMIT 1"],
    probe: ["SELECT FOUND_ROWS()"],
    only: "mysql",
  },
  {
    name: "the found rows of a plain query",
    set: ["SELECT id FROM t WHERE id<3"],
    probe: ["SELECT FOUND_ROWS()"],
    only: "mysql",
  },
  { name: "the row count", set: ["UPDATE t SET a=a+1 WHERE id<3"], probe: ["SELECT ROW_COUNT()"] },
  { name: "warnings", set: ["SELECT CAST('a' AS SIGNED)"], probe: ["SHOW WARNINGS"] },
  { name: "the count of warnings", set: ["SELECT CAST('a' AS SIGNED)"], probe: ["SELECT @@warning_count"] },
  { name: "a sequence's last value", set: ["SELECT NEXTVAL(sq)"], probe: ["SELECT LASTVAL(sq)"], only: "mariadb" },
];
