import { Account } from "./account.ts";
import { IdleAccounts } from "./idle_accounts.ts";
import type { KeyLine } from "./key_line.ts";

/** Records for keys beyond the bound. */
const shared = 64;
/** Records of keys that have left that are kept, at most: most clients come back, and making a record is half of what a wait costs. */
const mostIdle = 16_384;
/** Characters of a key, at most, for it to be kept after it has left. */
const longest = 100;

/**
 * The records of keys that wait, hold permits or owe some: at most a given number, so that who makes up keys cannot fill the
 * memory. Keys beyond it share a few records by their hash (stochastic fair queuing; McKenney, INFOCOM 1990). A record that is
 * of no use any more stays until its place is needed, and says nothing of what its key did before.
 */
export class Accounts {
  readonly #most: number;
  readonly #weigh: ((key: string) => number) | undefined;
  readonly #known = new Map<string, Account>();
  readonly #idle = new IdleAccounts();
  readonly #shared: Account[] = [];
  /** The record of all who have no key. */
  readonly common: Account = new Account("", false);
  /** Keys with a record of their own that is not idle. */
  size = 0;

  constructor(most: number, weigh?: (key: string) => number) {
    this.#most = most;
    this.#weigh = weigh;
  }

  /** The record of `key`, be it idle; undefined when there is none, or the key might have to share one. */
  find(key: string | undefined): Account | undefined {
    return key === undefined ? this.common : this.#known.get(key);
  }

  /** Records there are, with those that are idle. */
  get kept(): number {
    return this.#known.size;
  }

  /** The record of a key that has none, new, or one to share. It is idle until it is used. */
  make(key: string): Account {
    if (this.size >= this.#most || this.#shared.length > 0) {
      const together = hash(key) % shared;
      // Whoever's key waits in a shared record must not be passed by one that came when there was room again.
      if (this.size >= this.#most || (this.#shared[together]?.queued ?? 0) > 0) {
        return this.#shared[together] ??= new Account("", false);
      }
    }
    const account = this.#spare() ?? new Account(key, true);
    account.key = key;
    this.#known.set(key, account);
    return account;
  }

  /** The line of `account` at `place`, in which somebody is about to be. {@linkcode Accounts.tidy} ends it. */
  use(account: Account, place: number): KeyLine {
    if (account.idle) this.#begin(account, place);
    return account.line(place);
  }

  /** Lets go of a key that neither waits nor holds nor owes. */
  tidy(account: Account): void {
    if (account.queued > 0 || account.used > 0 || account.rounds > 0 || !account.capped || account.idle) return;
    account.forgive();
    account.idle = true;
    this.size--;
    if (account.key.length > longest) this.#known.delete(account.key);
    else this.#keep(account);
  }

  #keep(account: Account): void {
    this.#idle.add(account);
    if (this.#known.size - this.size > mostIdle) this.#known.delete(this.#idle.take()!.key);
  }

  #begin(account: Account, place: number): void {
    account.idle = false;
    this.size++;
    if (account.others === undefined) account.place = place;
    if (this.#weigh === undefined) return;
    const share = this.#weigh(account.key);
    account.share = share > 0 && share < Infinity ? share : 1;
  }

  /** A record to use again once there are as many as there may be: that of a key that left long ago. */
  #spare(): Account | undefined {
    if (this.#known.size < Math.min(this.#most, mostIdle)) return undefined;
    const account = this.#idle.take();
    if (account === undefined) return undefined;
    this.#known.delete(account.key);
    return account;
  }
}

/** FNV-1a over UTF-16 units. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return value >>> 0;
}
