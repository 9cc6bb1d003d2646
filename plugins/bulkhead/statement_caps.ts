import type { DatabaseCaps, SessionCaps, StatementCaps as Contract } from "../../core/contracts/statement_caps.ts";
import type { CappedStatements } from "./capped_statements.ts";
import { noDatabases, unknownDatabase } from "./errors.ts";

/** The entries of `[[bulkhead.statements]]`: of those that match a statement the first counts. */
export class StatementCaps implements Contract {
  readonly #entries: readonly CappedStatements[];
  #served = false;

  constructor(entries: readonly CappedStatements[]) {
    this.#entries = entries;
  }

  serve(databases: readonly string[]): ReadonlyMap<string, DatabaseCaps> {
    this.#served = true;
    const stranger = this.#entries.find(({ db }) => db !== undefined && !databases.includes(db));
    if (stranger !== undefined) throw unknownDatabase(stranger.db!, databases);
    const caps = new Map<string, DatabaseCaps>();
    for (const name of databases) {
      const entries = this.#entries.filter(({ db }) => db === undefined || db === name);
      if (entries.length > 0) caps.set(name, { of: (user) => capsOf(entries, user) });
    }
    return caps;
  }

  /**
   * That there is somebody whose statements can be capped, if they are to be.
   *
   * @throws CoreError `BULKHEAD_DATABASE`
   */
  check(): void {
    if (this.#entries.length > 0 && !this.#served) throw noDatabases();
  }
}

function capsOf(entries: readonly CappedStatements[], user: string): SessionCaps | undefined {
  const caps = entries.map((entry) => entry.capFor(user)).filter((cap) => cap !== undefined);
  if (caps.length === 0) return undefined;
  return { of: (statement) => caps.find((cap) => cap.matches(statement)) };
}
