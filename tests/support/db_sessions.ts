/**
 * Short ways to say what a session does.
 *
 * @module
 */
import type { Database, Place } from "./database.ts";
import { MysqlError, RawClient, type RawOptions, type Result } from "./raw_client.ts";

/** A session in the schema `test`. */
export function session(place: Place, options: RawOptions = {}): Promise<RawClient> {
  return RawClient.login(place, { database: "test", ...options });
}

/** A session from its login to its QUIT; one whose work fails is dropped. */
export async function visit<T>(
  place: Place,
  work: (client: RawClient) => Promise<T>,
  options: RawOptions = {},
): Promise<T> {
  const client = await session(place, options);
  try {
    const value = await work(client);
    await client.quit();
    return value;
  } finally {
    client.destroy();
  }
}

/** What a session of its own sees: the first field of the first row. */
export function look(place: Place, sql: string, options: RawOptions = {}): Promise<string | null | undefined> {
  return visit(place, (client) => client.one(sql), options);
}

/** A session that runs statements and quits. */
export function leave(place: Place, statements: readonly string[], options: RawOptions = {}): Promise<void> {
  return visit(place, (client) => client.run(...statements), options);
}

/** The number of the error that `work` fails with; 0 when it does not fail. */
export async function errorCode(work: Promise<unknown>): Promise<number> {
  try {
    await work;
    return 0;
  } catch (error) {
    if (error instanceof MysqlError) return error.code;
    throw error;
  }
}

/** One of the server's own counters. */
export async function counter(database: Database, name: string): Promise<number> {
  return Number((await database.admin(`SHOW GLOBAL STATUS LIKE '${name}'`))[0]![1]);
}

/** Results as plain values: rows as texts, OK as its counts, an error as its number. */
export function plain(results: readonly Result[]): unknown[] {
  return results.map((result) => {
    switch (result.kind) {
      case "ok":
        return { affected: result.affected, insertId: result.insertId };
      case "error":
        return { error: result.code, state: result.state };
      case "rows":
        return result.rows.map((row) => row.map((value) => value?.toString() ?? null));
    }
  });
}
