import { KeyLine } from "./key_line.ts";

/** What a gate keeps about one key. */
export class Account {
  key: string;
  /** How much of its class it gets compared with others. */
  share = 1;
  /** Permits out under its name. */
  used = 0;
  /** Its waiters, and the permits they want. */
  queued = 0;
  wanted = 0;
  /** Rounds of classes it takes part in. */
  rounds = 0;
  /** Whether the caps on keys are for it: not for those who share a record, nor for waiters without a key. */
  readonly capped: boolean;
  /** Its line in the class it came to first: of most keys the only one. */
  first: KeyLine | undefined = undefined;
  /** Those in other classes. */
  others: KeyLine[] | undefined = undefined;

  constructor(key: string, capped: boolean) {
    this.key = key;
    this.capped = capped;
  }

  line(place: number): KeyLine {
    const first = this.first ??= new KeyLine(this, place);
    return first.place === place ? first : this.#other(place);
  }

  #other(place: number): KeyLine {
    this.others ??= [];
    for (const line of this.others) if (line.place === place) return line;
    const line = new KeyLine(this, place);
    this.others.push(line);
    return line;
  }
}

/** Records for keys beyond the bound. */
const shared = 64;
/** Records kept for keys to come, the one used last first: it is still in the cache. */
const spare = 1024;

/**
 * The records of keys that wait, hold permits or owe some: at most a given number, so that who makes up keys cannot fill the
 * memory. Keys beyond it share a few records by their hash (stochastic fair queuing; McKenney, INFOCOM 1990).
 */
export class Accounts {
  readonly #most: number;
  readonly #weigh: ((key: string) => number) | undefined;
  readonly #known = new Map<string, Account>();
  readonly #spare: Account[] = [];
  readonly #shared: Account[] = [];
  /** The record of all who have no key. */
  readonly common: Account = new Account("", false);

  constructor(most: number, weigh?: (key: string) => number) {
    this.#most = most;
    this.#weigh = weigh;
  }

  get size(): number {
    return this.#known.size;
  }

  find(key: string | undefined): Account | undefined {
    return key === undefined ? this.common : this.#known.get(key);
  }

  /** Makes the record of a key that has none, or has it share one. {@linkcode Accounts.tidy} ends it. */
  make(key: string): Account {
    if (this.#known.size >= this.#most || this.#shared.length > 0) {
      const together = hash(key) % shared;
      // Whoever's key waits in a shared record must not be passed by one that came when there was room again.
      if (this.#known.size >= this.#most || (this.#shared[together]?.queued ?? 0) > 0) {
        return this.#shared[together] ??= new Account("", false);
      }
    }
    const account = this.#spare.pop() ?? new Account(key, true);
    account.key = key;
    if (this.#weigh !== undefined) {
      const share = this.#weigh(key);
      account.share = share > 0 && share < Infinity ? share : 1;
    }
    this.#known.set(key, account);
    return account;
  }

  /** Forgets a key that neither waits nor holds nor owes. */
  tidy(account: Account): void {
    if (!account.capped || account.queued > 0 || account.used > 0 || account.rounds > 0) return;
    if (account.first !== undefined) account.first.deficit = account.first.mean = 0;
    if (account.others !== undefined) { for (const line of account.others) line.deficit = line.mean = 0; }
    if (this.#known.get(account.key) !== account) return;
    this.#known.delete(account.key);
    if (this.#spare.length < spare) this.#spare.push(account);
  }
}

/** FNV-1a over UTF-16 units. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return value >>> 0;
}
