/**
 * What the analysis knows of each word, in tables by the word's number.
 *
 * @module
 */
import {
  BEHIND_OPERAND,
  CONSTRUCTS,
  CONSTRUCTS_MYSQL,
  PURE_COMMON,
  PURE_MARIADB,
  PURE_MYSQL,
  PURE_MYSQL_8,
  SPACE_SENSITIVE,
} from "./functions.ts";
import { MAX_WORDS, word, words } from "./words.ts";

export const PURE_ON_MYSQL = 1;
export const PURE_ON_MARIADB = 2;
/** May stand before a parenthesis without being called. */
export const CONSTRUCT = 4;
/** A function only where its parenthesis follows at once. */
export const SPACE = 8;
export const PURE_ON_MYSQL_8 = 16;
/** Like CONSTRUCT, on MySQL only. */
export const CONSTRUCT_ON_MYSQL = 32;
/** Like CONSTRUCT, behind an operand. */
export const CONSTRUCT_BEHIND = 64;

/** What a walk through a statement does at a word, wherever it stands. */
export const ACT = {
  NONE: 0,
  INTO: 1,
  WRITES: 2,
  FOR: 3,
  LOCK: 4,
  FOUND_ROWS_OPTION: 5,
  PROCEDURE: 6,
  SEQUENCE: 7,
  FROM: 8,
  JOIN: 9,
  TABLE_DONE: 10,
  CLAUSE: 11,
  MAY_WRITE: 12,
} as const;

/** What a walk does at a call, besides asking whether it is pure. */
export const CALL = { NONE: 0, READS_PREVIOUS: 1, LAST_INSERT_ID: 2, LOCK: 3, CONNECTION_ID: 4 } as const;

const flagsOf: number[] = [];
const actOf: number[] = [];
const callOf: number[] = [];
const add = (list: number[], text: string, flag: number) => {
  for (const id of words(text)) list[id] = (list[id] ?? 0) | flag;
};
const put = (list: number[], text: string, value: number) => {
  for (const id of words(text)) list[id] = value;
};

add(flagsOf, PURE_COMMON, PURE_ON_MYSQL | PURE_ON_MARIADB);
add(flagsOf, PURE_MYSQL, PURE_ON_MYSQL);
add(flagsOf, PURE_MARIADB, PURE_ON_MARIADB);
add(flagsOf, SPACE_SENSITIVE, SPACE);
add(flagsOf, CONSTRUCTS, CONSTRUCT);
add(flagsOf, CONSTRUCTS_MYSQL, CONSTRUCT_ON_MYSQL);
add(flagsOf, BEHIND_OPERAND, CONSTRUCT_BEHIND);
add(flagsOf, PURE_MYSQL_8, PURE_ON_MYSQL_8);

put(actOf, "into outfile dumpfile", ACT.INTO);
put(actOf, "update delete", ACT.WRITES);
// Functions too, where a parenthesis follows.
put(actOf, "insert replace", ACT.MAY_WRITE);
put(actOf, "for", ACT.FOR);
put(actOf, "lock", ACT.LOCK);
put(actOf, "sql_calc_found_rows", ACT.FOUND_ROWS_OPTION);
put(actOf, "procedure", ACT.PROCEDURE);
put(actOf, "nextval currval lastval setval", ACT.SEQUENCE);
put(actOf, "from table", ACT.FROM);
put(actOf, "join straight_join", ACT.JOIN);
put(actOf, "on using use force ignore", ACT.TABLE_DONE);
put(actOf, "where group having order limit union except intersect select", ACT.CLAUSE);

put(callOf, "found_rows row_count", CALL.READS_PREVIOUS);
put(callOf, "last_insert_id", CALL.LAST_INSERT_ID);
put(callOf, "get_lock release_lock release_all_locks", CALL.LOCK);
put(callOf, "connection_id ps_current_thread_id is_used_lock", CALL.CONNECTION_ID);

/** Words that the analysis compares with. */
export const W = Object.fromEntries(
  `analyze as begin by call character charset char collate commit connection create cursor do drop desc describe
  database databases deallocate default dumpfile error errors execute explain engine engines events flush for
  format from full function get global grant grants handler hard help identified in index insert install into isolation
  kill last_insert_id level like load local lock mode names no not null on only open or password persist persist_only
  prepare privileges procedure processlist profile profiles query read release rename replace repair reset resource revoke
  role rollback savepoint schema schemas select session set share show signal snapshot soft start statement status stop
  storage system table tables temporary transaction trigger triggers truncate uninstall unlock update use user value values
  variables view warnings with work write xa count true false alter delete truncate optimize check checksum cache import
  shutdown restart purge change binlog clone resignal diagnostics backup execute immediate offline online if exists
  fields columns keys indexes collation plugins consistent extended id of sql_calc_found_rows dual next previous
  information_schema performance_schema sys mysql resource optimizer stop help`.trim().split(/\s+/).map((
    spelling,
  ) => [spelling, word(spelling)]),
) as Readonly<Record<string, number>>;

const table = (list: readonly number[]) => Uint8Array.from({ length: MAX_WORDS }, (_, id) => list[id] ?? 0);
export const FLAGS: Uint8Array = table(flagsOf);
export const ACTS: Uint8Array = table(actOf);
export const CALLS: Uint8Array = table(callOf);
