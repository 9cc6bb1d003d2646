/**
 * What the database itself counted in a window.
 *
 * @module
 */
import type { Database } from "../../tests/support/database.ts";
import { RawClient } from "../../tests/support/raw_client.ts";

/** The names are the server's. Resets and pings are one of them: `Com_admin_commands`, on MariaDB and on MySQL. */
export const COUNTERS = ["Connections", "Com_select", "Com_set_option", "Com_admin_commands", "Questions"] as const;
export type Counter = typeof COUNTERS[number];
export type Counters = Readonly<Record<Counter, number>>;

/** A connection that stays, so that looking counts nothing but itself. */
export class Watch {
  readonly #client: RawClient;

  private constructor(client: RawClient) {
    this.#client = client;
  }

  static async open(database: Database): Promise<Watch> {
    return new Watch(await RawClient.login(database, { viaSocket: true, database: "mysql" }));
  }

  async read(): Promise<Counters> {
    const names = COUNTERS.map((name) => `'${name}'`).join(", ");
    const rows = await this.#client.rows(`SHOW GLOBAL STATUS WHERE Variable_name IN (${names})`);
    const values = new Map(rows.map(([name, value]) => [name, Number(value)]));
    return Object.fromEntries(COUNTERS.map((name) => {
      const value = values.get(name);
      if (value === undefined) throw new Error(`The server has no counter ${name}`);
      return [name, value];
    })) as Counters;
  }

  close(): void {
    this.#client.destroy();
  }
}

/** What was counted between two looks, without the second look itself. */
export function between(before: Counters, after: Counters): Counters {
  const own: Partial<Counters> = { Questions: 1 };
  return Object.fromEntries(COUNTERS.map((name) => [name, after[name] - before[name] - (own[name] ?? 0)])) as Counters;
}
