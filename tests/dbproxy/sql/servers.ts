/**
 * The servers that the lexer's claims are held against.
 *
 * @module
 */
import { createConnection } from "mysql2/promise";
import type { SqlMode } from "../../../plugins/dbproxy/sql/statement.ts";
import { hasMariaDb, startMariaDb } from "../../support/mariadb.ts";
import { mysql9Absent, startMysql9 } from "../../support/mysql9.ts";

export type Row = Record<string, unknown>;

export interface Session {
  /** The first result's rows; an error's number where the server refuses. */
  rows(sql: string): Promise<Row[] | number>;
  end(): Promise<void>;
}

export interface Server {
  readonly mode: SqlMode;
  session(): Promise<Session>;
  stop(): Promise<void>;
}

type Kind = "mariadb" | "mysql";

/** Those that this machine can run. */
export const kinds: readonly Kind[] = [
  ...(hasMariaDb() ? ["mariadb" as const] : []),
  ...(mysql9Absent() ? [] : ["mysql" as const]),
];

export async function startServer(server: Kind): Promise<Server> {
  const running = server === "mariadb" ? await startMariaDb() : await startMysql9();
  const { host, port, user, password } = running;
  const session = async (database?: string): Promise<Session> => {
    const connection = await createConnection({ host, port, user, password, ...(database ? { database } : {}) });
    return {
      async rows(sql) {
        try {
          const [rows] = await connection.query(sql);
          return Array.isArray(rows) ? rows as Row[] : [];
        } catch (error) {
          const { errno } = error as { errno?: number };
          if (typeof errno !== "number") throw error;
          return errno;
        }
      },
      end: () => connection.end(),
    };
  };
  const first = await session();
  await first.rows("CREATE DATABASE IF NOT EXISTS lexer");
  await first.rows("CREATE TABLE lexer.t (a INT PRIMARY KEY AUTO_INCREMENT, b VARCHAR(20), c INT, j JSON)");
  await first.rows("INSERT INTO lexer.t VALUES (1, 'x', 2, '{\"a\": 1}'), (2, 'y', 3, '[1, 2]')");
  const [row] = await first.rows("SELECT VERSION() v") as Row[];
  await first.end();
  const [major, minor, patch] = /(\d+)\.(\d+)\.(\d+)/.exec(String(row!["v"]))!.slice(1).map(Number);
  return {
    mode: {
      ansiQuotes: false,
      noBackslashEscapes: false,
      ignoreSpace: false,
      server,
      version: major! * 10_000 + minor! * 100 + patch!,
      unsafeCharset: false,
    },
    session: () => session("lexer"),
    stop: () => running.stop(),
  };
}

const NOISE =
  /^(timestamp|pseudo_.*|rand_seed.*|error_count|warning_count|statement_id|last_gtid|gtid_.*|in_transaction)$/;

/** What can be seen of a session's state, but for FOUND_ROWS and the warnings of its last statement. */
export async function fingerprint(session: Session, server: Kind): Promise<Record<string, unknown>> {
  const seen: Record<string, unknown> = {};
  const [own] = await session.rows(
    "SELECT LAST_INSERT_ID() i, DATABASE() d, CURRENT_ROLE() r, IS_USED_LOCK('probe') l, @probe p",
  ) as Row[];
  Object.assign(seen, own);
  for (const row of await session.rows("SHOW SESSION VARIABLES") as Row[]) {
    const name = String(row["Variable_name"]);
    if (!NOISE.test(name)) seen[name] = row["Value"];
  }
  seen["variables"] = server === "mariadb"
    ? await session.rows("SELECT VARIABLE_NAME n FROM information_schema.USER_VARIABLES WHERE VARIABLE_NAME <> 'probe'")
    : await session.rows(
      "SELECT VARIABLE_NAME n FROM performance_schema.user_variables_by_thread WHERE THREAD_ID = PS_CURRENT_THREAD_ID()",
    );
  if (server === "mysql") {
    seen["locks"] = await session.rows(
      "SELECT OBJECT_TYPE, OBJECT_NAME FROM performance_schema.metadata_locks WHERE OWNER_THREAD_ID = PS_CURRENT_THREAD_ID() " +
        "AND LOCK_DURATION <> 'TRANSACTION' AND LOCK_DURATION <> 'STATEMENT'",
    );
    seen["prepared"] = await session.rows(
      "SELECT STATEMENT_NAME FROM performance_schema.prepared_statements_instances WHERE OWNER_THREAD_ID = PS_CURRENT_THREAD_ID()",
    );
  }
  return seen;
}
