import { CoreError } from "../../core/error.ts";
import type { Backend } from "./backend/backend.ts";
import { currentQueries, readCurrent, type ServerFacts } from "./backend/facts.ts";

/** How long (ms) what is known of the server counts: global settings, roles and views change behind the proxy's back. */
export const staleAfter = 10_000;
/** How long (ms) a server is not asked again for views that it has too many of, or is too slow to tell. */
const pause = 60_000;

/** What the proxy knows of the server behind it, and how old that is. */
export class ServerKnowledge {
  readonly #now: () => number;
  /** What a new session starts with is another from now on. */
  readonly #onChange: () => void;
  #facts: ServerFacts | undefined;
  #views: ReadonlySet<string> | undefined;
  /** When the views were asked for that are known. */
  #seen = -Infinity;
  #askAt = -Infinity;
  #pausedUntil = -Infinity;
  #asking = false;
  #era = 0;

  constructor(now: () => number, onChange: () => void) {
    this.#now = now;
    this.#onChange = onChange;
  }

  /** Undefined before the server was ever reached. */
  get facts(): ServerFacts | undefined {
    return this.#facts;
  }

  /** The server was reached for the first time, or is another one now. */
  meet(facts: ServerFacts): void {
    this.#facts = facts;
    this.forget();
  }

  /** Whether one of these names (lower case) may be a view, which can call anything. */
  mayRunMore(tables: readonly string[]): boolean {
    if (tables.length === 0) return false;
    const views = this.#views;
    if (views === undefined || this.#now() - this.#seen > staleAfter) return true;
    for (const name of tables) if (views.has(name)) return true;
    return false;
  }

  /** Views or global settings may have changed. */
  forget(): void {
    this.#era++;
    this.#views = undefined;
    this.#askAt = -Infinity;
  }

  /** Whether the server is to be asked at the next occasion. */
  get due(): boolean {
    const now = this.#now();
    return !this.#asking && now >= this.#askAt && now >= this.#pausedUntil;
  }

  /**
   * Asks the server, over a connection that is as new and is reset afterwards. An error of the server leaves the views unknown.
   *
   * @throws CoreError what the connection was lost with
   */
  async ask(backend: Backend): Promise<void> {
    const facts = this.#facts;
    if (facts === undefined) throw new CoreError("DB_UNREACHABLE", "The database has not been reached yet");
    const era = this.#era;
    const asked = this.#now();
    this.#asking = true;
    // Whatever becomes of this: a server that is slow to tell, or tells too much, is not asked for it by each connection.
    this.#pausedUntil = asked + pause;
    let current: ReturnType<typeof readCurrent>;
    try {
      current = readCurrent(facts, await backend.ask(currentQueries(facts.server)));
    } finally {
      this.#asking = false;
    }
    if (current.views !== undefined) this.#pausedUntil = -Infinity;
    // Something changed while it was asked: the answer may be old.
    if (this.#era !== era) return;
    this.#askAt = asked + staleAfter;
    this.#seen = asked;
    this.#views = current.views;
    if (current.facts === facts) return;
    this.#facts = current.facts;
    this.#onChange();
  }
}
