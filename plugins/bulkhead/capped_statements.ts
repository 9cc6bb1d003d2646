import type {
  CappedStatement,
  StatementAnswer,
  StatementCap,
  StatementPermit,
  StatementWait,
} from "../../core/contracts/statement_caps.ts";
import { thenable } from "../../core/hooks.ts";
import type { Awaitable } from "../../core/plugin.ts";
import { type StatementTable, termsOf } from "./config.ts";
import { type Limits, usualLease } from "./limits.ts";
import { keyedOrLong } from "./name.ts";
import { percentPattern } from "./percent_pattern.ts";
import { type Settled, settled } from "./settled.ts";
import type { BulkheadAsk, BulkheadDenialReason, BulkheadStore } from "./store.ts";
import { acquireWithin, type Denied, type Held } from "./within.ts";

/** Digests whose text was compared with the patterns of one entry, and is not compared again. */
const mostKnown = 5000;

/** What a statement has no value for that is a key. */
const none = "(none)";

/** One `[[bulkhead.statements]]`. */
export class CappedStatements {
  /** The database it is about; undefined for any. */
  readonly db: string | undefined;
  readonly #table: StatementTable;
  readonly #settled: Settled;
  readonly #store: BulkheadStore;
  readonly #texts: readonly ((text: string) => boolean)[] | undefined;
  /** Whether the text of a digest fits, by its hash. */
  readonly #known = new Map<string, boolean>();

  /** @throws CoreError `BULKHEAD_UNKNOWN` for a bulkhead without a limit */
  constructor(store: BulkheadStore, table: StatementTable, limits: Limits) {
    this.db = table.db;
    this.#table = table;
    this.#store = store;
    this.#settled = settled(table, termsOf(table.name, table), limits);
    this.#texts = table.text?.map(percentPattern);
  }

  /** The cap for a user's statements, as far as this entry is about them. */
  capFor(user: string): EntryCap | undefined {
    if (this.#table.user?.includes(user) === false) return undefined;
    return { matches: (statement) => this.#matches(statement), enter: (what, wait) => this.#enter(user, what, wait) };
  }

  #matches(statement: CappedStatement): boolean {
    const { schema, digest } = this.#table;
    if (schema?.includes(statement.schema ?? "") === false) return false;
    if (digest === undefined && this.#texts === undefined) return true;
    const seen = statement.digest;
    if (seen === undefined || digest?.includes(seen.hash) === false) return false;
    return this.#texts === undefined || this.#fits(this.#texts, seen);
  }

  #fits(patterns: readonly ((text: string) => boolean)[], digest: NonNullable<CappedStatement["digest"]>): boolean {
    const { hash } = digest;
    let fits = this.#known.get(hash);
    if (fits !== undefined) return fits;
    fits = patterns.some((pattern) => pattern(digest.text));
    if (this.#known.size >= mostKnown) this.#known.clear();
    this.#known.set(hash, fits);
    return fits;
  }

  #enter(
    user: string,
    statement: CappedStatement,
    { owner, patient, signal }: StatementWait,
  ): Awaitable<StatementAnswer> {
    const { terms: { lease = usualLease, maxWait = 0, maxQueue }, limit, around } = this.#settled;
    const ask: BulkheadAsk = {
      name: this.#nameFor(user, statement),
      limit,
      weight: 1,
      leaseMs: lease,
      maxWaitMs: patient ? maxWait : 0,
      ...(maxQueue === undefined ? undefined : { maxQueue }),
      owner,
      signal,
    };
    const answered = (answer: Held | Denied) =>
      answer.granted ? permitOf(answer) : this.#refusal(ask.name, answer.reason, answer);
    const failed = () => this.#refusal(ask.name, "unavailable", { waitedMs: 0 });
    try {
      const answer = around === undefined ? this.#store.acquire(ask) : acquireWithin(this.#store, ask, around);
      return thenable(answer)
        ? Promise.resolve(answer).then(answered).catch(failed)
        : answered(answer as Held | Denied);
    } catch {
      return failed();
    }
  }

  #nameFor(user: string, statement: CappedStatement): string {
    const { name, key } = this.#table;
    switch (key) {
      case "user":
        return keyedOrLong(name, user || none);
      case "schema":
        return keyedOrLong(name, statement.schema || none);
      case "digest":
        return keyedOrLong(name, statement.digest?.hash ?? none);
      default:
        return name;
    }
  }

  #refusal(
    name: string,
    reason: BulkheadDenialReason,
    { waitedMs, around }: Pick<Denied, "waitedMs" | "around">,
  ): StatementAnswer {
    const bulkhead = around === true ? this.#settled.around! : { name, limit: this.#settled.limit };
    return { granted: false, bulkhead: bulkhead.name, limit: bulkhead.limit, reason, waitedMs };
  }
}

/** What one entry does with the statements of one user. */
export interface EntryCap extends StatementCap {
  matches(statement: CappedStatement): boolean;
}

function permitOf(held: Held): StatementPermit {
  return {
    granted: true,
    release() {
      const released = held.release();
      // What the store cannot be told now the lease ends.
      if (thenable(released)) Promise.resolve(released).catch(() => {});
    },
  };
}
