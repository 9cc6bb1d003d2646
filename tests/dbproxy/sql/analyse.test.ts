import { describe, expect, test } from "bun:test";
import { analyse } from "../../../plugins/dbproxy/sql/analyse.ts";
import { Analyser } from "../../../plugins/dbproxy/sql/analyser.ts";
import { headChangesCatalogue } from "../../../plugins/dbproxy/sql/head.ts";
import type { SqlMode, Statement } from "../../../plugins/dbproxy/sql/statement.ts";
import { isReplayable } from "../../../plugins/dbproxy/sql/variables.ts";

const MYSQL: SqlMode = {
  ansiQuotes: false,
  noBackslashEscapes: false,
  ignoreSpace: false,
  server: "mysql",
  version: 90704,
  unsafeCharset: false,
};
const MARIADB: SqlMode = { ...MYSQL, server: "mariadb", version: 101119 };
const of = (sql: string, mode: SqlMode = MYSQL): Statement => analyse(new TextEncoder().encode(sql), mode);
/** `select`, or the kind with why it leaves something. */
const verdict = (sql: string, mode: SqlMode = MYSQL) => {
  const { kind, residue } = of(sql, mode);
  return residue ? `${kind} ${residue}` : kind;
};
const verdicts = (mode: SqlMode, expected: Record<string, string>) => {
  for (const [sql, right] of Object.entries(expected)) expect([sql, verdict(sql, mode)]).toEqual([sql, right]);
};

describe("what a statement leaves", () => {
  test("reads are selects", () => {
    verdicts(MYSQL, {
      "SELECT 1": "select",
      "select count(*), max(a) from t where a in (1) and (b or c) order by 1": "select",
      "(select 1) union (select 2);": "select",
      "SELECT 1; -- and a comment": "select",
      "select replace(a,'b','c'), insert(a,1,2,'x') from t": "select",
      "select t.update, t.into, t.lock from t": "select",
      "select match (a) against ('x' in boolean mode) from t": "select",
      "select 'get_lock(1)', \"@a:=1\", `into` from t": "select",
      "with c as (select 1) select * from c": "select",
      "table v": "select",
      "show create procedure p": "select",
      "explain select 1": "select",
      "select substring(a from 1 for 2) from t": "select",
    });
  });

  test("what the server does not report is found", () => {
    verdicts(MYSQL, {
      "select get_lock('a', 1)": "other lock",
      "select GET_LOCK /* c */ ('a', 1)": "other lock",
      "select @a := 1": "other user_variable",
      "select 1 into @a": "other user_variable",
      "select 1e5into @a": "other user_variable",
      "select 1 from t into outfile 'x'": "other user_variable",
      "select last_insert_id(5)": "other last_insert_id",
      "select last_insert_id( /* */ 5)": "other last_insert_id",
      "select sql_calc_found_rows 1": "other found_rows",
      "select 1 for update": "other lock",
      "select 1 for share": "other lock",
      "select 1 lock in share mode": "other lock",
      "select f(1)": "other function",
      "select db.abs(1)": "other function",
      "select db . abs (1)": "other function",
      "select `abs`(1)": "other function",
      "select count (1)": "other function",
      "select count/**/(1)": "other function",
      "select sys.in (1)": "other function",
      "select {fn f(1)}": "other function",
      "with c as (select 1) update t set a = 1": "other write",
      "explain update t set a = 1": "other write",
      "select 1 procedure analyse()": "other opaque",
      "set role r": "other role",
      "handler t open": "other handler",
      "call p()": "other call",
      "do f()": "other function",
      "prepare s from 'select 1'": "other prepare",
      "lock tables t read": "other lock",
      "load data infile 'x' into table t": "other load",
      "create temporary table t (a int)": "other temporary_table",
      "savepoint a": "other transaction",
      "select /*+ SET_VAR(sort_buffer_size=1) */ 1": "other set",
      "nonsense": "other opaque",
    });
    expect(verdict("select count (1)", { ...MYSQL, ignoreSpace: true })).toBe("select");
    expect(verdict("select s.nextval", MARIADB)).toBe("other function");
    expect(verdict("select next value for s", MARIADB)).toBe("other function");
    expect(verdict("select against(1)", MARIADB)).toBe("other function");
    expect(verdict("select match (a) against ('x') from t", MARIADB)).toBe("select");
    expect(verdict("select md5('a')", MARIADB)).toBe("select");
    expect(verdict("select md5('a')", { ...MYSQL, version: 80036 })).toBe("select");
    expect(verdict("select md5('a')")).toBe("other function");
  });

  test("comments are code where the server executes them", () => {
    const into = (comment: string, mode: SqlMode) => verdict(`select 1 ${comment}`, mode) !== "select";
    expect(into("/*! into @a */", MYSQL)).toBe(true);
    expect(into("/*!80000 into @a */", MYSQL)).toBe(true);
    expect(into("/*!99999 into @a */", MYSQL)).toBe(false);
    expect(into("/*!99999 /* x */ into @a */", MYSQL)).toBe(false);
    expect(into("/*!80000 into @a */", MARIADB)).toBe(false);
    expect(into("/*!50601 into @a */", MARIADB)).toBe(true);
    expect(into("/*M!100100 into @a */", MARIADB)).toBe(true);
    expect(into("/*M!100100 into @a */", MYSQL)).toBe(false);
    expect(into("-- into @a", MYSQL)).toBe(false);
    expect(into("--1 into @a", MYSQL)).toBe(true);
    expect(into("# into @a\n", MYSQL)).toBe(false);
    expect(into("/* into @a", MYSQL)).toBe(true);
  });

  test("strings end where the mode says", () => {
    const text = "select 'a\\' into @x -- '";
    expect(verdict(text)).toBe("select");
    expect(verdict("select 'a\\' into @x")).toBe("other opaque");
    expect(verdict(text, { ...MYSQL, noBackslashEscapes: true })).toBe("other user_variable");
    expect(verdict('select "f"(1)', { ...MYSQL, ansiQuotes: true })).toBe("other function");
    expect(verdict("select 1", { ...MYSQL, unsafeCharset: true })).toBe("other opaque");
    // A space in latin1, half a letter in utf8.
    expect(analyse(Uint8Array.from([...new TextEncoder().encode("select 1 into"), 0xa0, 0x40, 0x78]), MYSQL).residue)
      .toBe("opaque");
  });

  test("several statements are several", () => {
    expect(verdict("select 1; select 2")).toBe("several");
    expect(verdict("select 1; select f()")).toBe("several function");
    expect(verdict("use a; select 1")).toBe("several opaque");
    expect(verdict("select ';'; ; ")).toBe("select");
    // A server with multi-statements answers twice.
    expect(verdict("set names utf8mb4; -- x")).toBe("several set");
    expect(verdict("set names utf8mb4;")).toBe("set set");
    expect([verdict(""), verdict(" ; -- x\n/* y */")]).toEqual(["empty", "empty"]);
  });
});

describe("what a statement reads", () => {
  test("of earlier ones", () => {
    for (
      const sql of [
        "select found_rows()",
        "select last_insert_id()",
        "show warnings",
        "select @a",
        "select @@session.warning_count",
        "select @@`identity`",
        "insert into t values (row_count())",
        "show variables like 'ident%'",
        "select * from performance_schema.session_status",
        "call p()",
      ]
    ) expect([sql, of(sql).readsPrevious]).toEqual([sql, true]);
    for (const sql of ["select 1", "show variables like 'sql_mode'", "select @@sql_mode", "insert into t values (1)"]) {
      expect([sql, of(sql).readsPrevious]).toEqual([sql, false]);
    }
  });

  test("of the connection", () => {
    expect(of("select connection_id()").readsConnectionId).toBe(true);
    expect(of("select @@pseudo_thread_id").readsConnectionId).toBe(true);
    expect(of("select 1").readsConnectionId).toBe(false);
  });

  test("of variables only", () => {
    expect(of("SELECT @@SESSION.sql_mode").readsVariables).toEqual(["sql_mode"]);
    expect(of("select @@x AS `y`, @@local.Time_Zone z;").readsVariables).toEqual(["x", "time_zone"]);
    for (
      const sql of [
        "select @@global.x",
        "select @@x, 1",
        "select @@x from t",
        "select @@x limit 1",
        "select @@timestamp",
        "select @@x; -- y",
        "select @@x + 1",
      ]
    ) {
      expect([sql, of(sql).readsVariables]).toEqual([sql, undefined]);
    }
  });

  test("of tables", () => {
    expect(of("select a from T x, `db`.`U``v` join (w, z) on w.a = z.b where c in (select d from e) order by f").tables)
      .toEqual(["t", "db", "u`v", "w", "z", "e"]);
    expect(of("select 1 union table v").tables).toEqual(["v"]);
    expect(of("select a from `ä`").residue).toBe("opaque");
    expect(of("update t set a = 1").tables).toEqual([]);
  });
});

describe("SET, USE, KILL, BEGIN", () => {
  test("literals to variables of the session", () => {
    expect(of("SET NAMES 'utf8mb4' COLLATE utf8mb4_bin").assignments).toEqual([
      { name: "names", value: "utf8mb4", collation: "utf8mb4_bin" },
    ]);
    expect(of("set charset utf8").assignments).toEqual([{ name: "character_set", value: "utf8" }]);
    expect(
      of("/*!40101 SET @@session.SQL_MODE := 'A,B', time_zone='+00:00', local autocommit = 1, x = -5, y = ON */")
        .assignments,
    )
      .toEqual([
        { name: "sql_mode", value: "A,B" },
        { name: "time_zone", value: "+00:00" },
        { name: "autocommit", value: "1" },
        { name: "x", value: "-5" },
        { name: "y", value: "ON" },
      ]);
  });

  test("nothing else is a set", () => {
    verdicts(MYSQL, {
      "set @a = 1": "other user_variable",
      "set sql_mode = 'a', @a = 1": "other user_variable",
      "set sql_mode = default": "other set",
      "set sql_mode = concat(@@sql_mode, 'a')": "other set",
      "set sql_mode = 'a' 'b'": "other set",
      "set sql_mode = (select 1)": "other set",
      "set x = current_user": "other set",
      "set x = @y": "other set",
      "set timestamp = 1": "other set",
      "set global x = 1": "other set",
      "set @@persist.x = 1": "other set",
      "set transaction isolation level read committed": "other transaction",
      "set @@transaction_isolation = 'read-committed'": "other transaction",
      "set session transaction_isolation = 'read-committed'": "set set",
      "set password = 'x'": "other set",
      "set default role r to u": "other role",
      "set names default": "other set",
    });
    expect(of("set sql_mode='a', global x = 1").changesCatalogue).toBe(true);
    expect(of("set x = @y").readsPrevious).toBe(true);
  });

  test("targets", () => {
    expect(of("use `a``b` ;").schema).toBe("a`b");
    expect(of("kill query 5").kill).toEqual({ id: 5, query: true });
    expect(of("kill soft connection 7", MARIADB).kill).toEqual({ id: 7, query: false });
    expect(verdict("kill (select 1)")).toBe("other admin");
    expect(verdict("begin work")).toBe("begin transaction");
    expect(verdict("start transaction read only, with consistent snapshot")).toBe("begin transaction");
    expect(verdict("begin not atomic set @a = 1; end", MARIADB)).toBe("several opaque");
  });

  test("what others notice", () => {
    for (
      const sql of [
        "create view v as select 1",
        "drop database d",
        "grant a to b",
        "alter table v rename to w",
        "call p()",
      ]
    ) {
      expect([sql, of(sql).changesCatalogue]).toEqual([sql, true]);
    }
    for (const sql of ["create table t (a int)", "drop table t", "insert into t values (1)", "select f()"]) {
      expect([sql, of(sql).changesCatalogue]).toEqual([sql, false]);
    }
  });

  test("of its objects, or by a procedure, leaves open sessions as they are; that of databases, accounts and globals may not", () => {
    const spared = [
      "call p()",
      "alter table t add x int",
      "ALTER /* x */ VIEW v as select 1",
      "create view v as select 1",
      "drop procedure p",
      "rename table a to b",
      "call p(); drop view v; select 1",
    ];
    const not = [
      "alter database d collate utf8mb4_bin",
      "drop schema d",
      "create user u",
      "rename user a to b",
      "grant all on *.* to u",
      "set global sql_mode=''",
      "call p(); set global sql_mode=''",
      "reset master",
      "call p('a",
      "create table t (x int); drop database d",
    ];
    const seen = (sql: string) => [sql, of(sql).changesCatalogue, of(sql).sparesSessions === true];
    expect(spared.map(seen)).toEqual(spared.map((sql) => [sql, true, true]));
    expect(not.map(seen)).toEqual(not.map((sql) => [sql, true, false]));
  });

  test("is ruled out by the head of a long text that works on rows, where no other statement can follow", () => {
    const may = (text: string, mode: Partial<SqlMode> = {}, multi = false) =>
      headChangesCatalogue(new TextEncoder().encode(text), { ...MYSQL, ...mode }, multi);
    for (
      const text of [
        "INSERT INTO cache VALUES ('",
        " /* route */ -- x\n replace t values (1",
        "update t set a='\xff",
        "DELETE FROM t WHERE id IN (1,",
        "((select 1) union (select",
        "with a as (select 1",
        "select/*+ hint */ 1",
      ]
    ) expect([text, may(text)]).toEqual([text, false]);
    for (
      const text of [
        "",
        "(",
        "create view v as select '",
        "set global x='",
        "call p('",
        "begin",
        "/*!99999 x */ insert",
        "/*! create",
        "insertx",
        "`insert`",
        "\xa0insert",
      ]
    ) {
      expect([text, may(text)]).toEqual([text, true]);
    }
    expect([may("insert into t values ('", {}, true), may("insert into t values ('", { unsafeCharset: true })])
      .toEqual([true, true]);
  });

  test("variables that are never set again", () => {
    for (
      const name of [
        "timestamp",
        "INSERT_ID",
        "identity",
        "pseudo_slave_mode",
        "gtid_next",
        "session_track_schema",
        "debug_sync",
      ]
    ) {
      expect([name, isReplayable(name, "mysql")]).toEqual([name, false]);
    }
    for (const name of ["sql_mode", "time_zone", "autocommit"]) expect(isReplayable(name, "mariadb")).toBe(true);
  });
});

test("the analyser gives what analyse gives, and keeps no more than it may", () => {
  const analyser = new Analyser(8);
  for (let round = 0; round < 3; round++) {
    for (let i = 0; i < 40; i++) {
      const sql = new TextEncoder().encode(`select ${i % 10}, f${i}(1) from t`);
      const mode = i % 2 ? MYSQL : MARIADB;
      expect(analyser.analyse(sql, mode)).toEqual(analyse(sql, mode));
      expect(analyser.size <= 9).toBe(true);
    }
  }
  const sql = new TextEncoder().encode('select "a"(1)');
  expect(analyser.analyse(sql, MYSQL)).toBe(analyser.analyse(sql.slice(), MYSQL));
  expect(analyser.analyse(sql, { ...MYSQL, ansiQuotes: true }).residue).toBe("function");
});
