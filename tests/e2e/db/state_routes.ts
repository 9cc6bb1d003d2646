/**
 * The ways in which statements reach a server, for state that is set in every one of them.
 *
 * @module
 */
import type { Database } from "../../support/database.ts";
import { MysqlError, ok, type RawClient } from "../../support/raw_client.ts";

export interface Route {
  readonly name: string;
  /** Makes what it needs; throws the server's refusal when the statements cannot go this way. */
  readonly ready?: (database: Database, statements: readonly string[]) => Promise<unknown>;
  /** Throws the server's refusal when the statements cannot go this way. */
  readonly go: (client: RawClient, statements: readonly string[], database: Database) => Promise<unknown>;
}

const quoted = (sql: string) => `'${sql.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;
const body = (statements: readonly string[]) => statements.map((statement) => `${statement}; `).join("");

/** Runs what must fail, with exactly that error. */
async function failing(client: RawClient, sql: string, code: number): Promise<void> {
  const last = (await client.query(sql)).at(-1)!;
  if (last.kind !== "error") throw new Error(`${sql} did not fail`);
  if (last.code !== code) throw new MysqlError(last.code, last.state, last.message);
}

const routine =
  (name: string, kind: "PROCEDURE" | "FUNCTION", head: string, closing = ""): NonNullable<Route["ready"]> =>
  (database, statements) =>
    database.admin(
      "USE test",
      `DROP ${kind} IF EXISTS ${name}`,
      `CREATE ${kind} ${name}()${head} BEGIN ${body(statements)}${closing}END`,
    );

export const routes: readonly Route[] = [
  { name: "text", go: (client, statements) => client.run(...statements) },
  {
    name: "one text of several statements",
    go: async (client, statements) => ok(await client.query(statements.join("; "))),
  },
  {
    name: "the binary protocol",
    go: async (client, statements) => {
      for (const statement of statements) {
        const { id } = await client.prepare(statement);
        ok(await client.execute(id));
      }
    },
  },
  {
    name: "PREPARE and EXECUTE",
    go: async (client, statements) => {
      for (const statement of statements) {
        await client.run(`PREPARE mine FROM ${quoted(statement)}`, "EXECUTE mine", "DEALLOCATE PREPARE mine");
      }
    },
  },
  {
    name: "EXECUTE IMMEDIATE",
    go: async (client, statements) => {
      for (const statement of statements) await client.run(`EXECUTE IMMEDIATE ${quoted(statement)}`);
    },
  },
  {
    name: "an executable comment",
    go: (client, statements) => client.run(...statements.map((statement) => `/*!50000 ${statement} */`)),
  },
  {
    name: "a procedure",
    ready: routine("p_state", "PROCEDURE", ""),
    go: async (client) => ok(await client.query("CALL p_state()")),
  },
  {
    name: "a procedure called in the binary protocol",
    ready: routine("p_state", "PROCEDURE", ""),
    go: async (client) => ok(await client.execute((await client.prepare("CALL p_state()")).id)),
  },
  {
    name: "a function",
    ready: routine("f_state", "FUNCTION", " RETURNS INT", "RETURN 1; "),
    go: (client) => client.run("SELECT f_state()"),
  },
  {
    name: "a trigger",
    ready: (database, statements) =>
      database.admin(
        "USE test",
        "DROP TRIGGER IF EXISTS g_state",
        `CREATE TRIGGER g_state BEFORE INSERT ON fire FOR EACH ROW BEGIN ${body(statements)}END`,
      ),
    go: (client) => client.run("INSERT INTO fire VALUES (1)"),
  },
  {
    name: "a procedure that fails afterwards",
    ready: routine("p_state", "PROCEDURE", "", "SIGNAL SQLSTATE '45000'; "),
    go: (client) => failing(client, "CALL p_state()", 1644),
  },
  {
    name: "a text whose last statement fails",
    go: (client, statements) => failing(client, `${statements.join("; ")}; SELECT nope`, 1054),
  },
];
