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
  /** Whether the caps on keys are for it: not for those who share a record, nor for waiters without a key. */
  readonly capped: boolean;
  /** Its lines by class, made when first used. */
  readonly lines: (KeyLine | undefined)[] = [undefined, undefined, undefined, undefined];

  constructor(key: string, capped: boolean) {
    this.key = key;
    this.capped = capped;
  }

  line(place: number): KeyLine {
    return this.lines[place] ??= new KeyLine(this, place);
  }
}

/** Records for keys beyond the bound. */
const shared = 64;
/** Records kept for keys to come, so that keys that come and go allocate nothing. */
const spare = 1024;

/**
 * The records of keys that wait, hold permits or owe some: at most a given number, so that who makes up keys cannot fill the
 * memory. Keys beyond it share a few records by their hash (stochastic fair queuing; McKenney, INFOCOM 1990).
 */
export class Accounts {
  readonly #most: number;
  readonly #weigh: (key: string) => number;
  readonly #known = new Map<string, Account>();
  readonly #spare: Account[] = [];
  readonly #shared: Account[] = [];
  /** The record of all who have no key. */
  readonly common: Account = new Account("", false);

  constructor(most: number, weigh: (key: string) => number = () => 1) {
    this.#most = most;
    this.#weigh = weigh;
  }

  get size(): number {
    return this.#known.size;
  }

  find(key: string | undefined): Account | undefined {
    return key === undefined ? this.common : this.#known.get(key);
  }

  /** The record of `key`, made if need be. {@linkcode Accounts.tidy} ends it. */
  of(key: string | undefined): Account {
    if (key === undefined) return this.common;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    if (this.#known.size >= this.#most || this.#shared.length > 0) {
      const together = hash(key) % shared;
      // Whoever's key waits in a shared record must not be passed by one that came when there was room again.
      if (this.#known.size >= this.#most || (this.#shared[together]?.queued ?? 0) > 0) {
        return this.#shared[together] ??= new Account("", false);
      }
    }
    const account = this.#spare.pop() ?? new Account(key, true);
    account.key = key;
    const share = this.#weigh(key);
    account.share = share > 0 && share < Infinity ? share : 1;
    this.#known.set(key, account);
    return account;
  }

  /** Forgets a key that neither waits nor holds nor owes. */
  tidy(account: Account): void {
    if (!account.capped || account.queued > 0 || account.used > 0) return;
    for (const line of account.lines) if (line?.after !== undefined) return;
    for (const line of account.lines) if (line !== undefined) line.deficit = line.mean = 0;
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
