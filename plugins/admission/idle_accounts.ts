import type { Account } from "./account.ts";

/**
 * Records that nobody uses, those idle longest first, as good as: one that was used again in between keeps the place it had, so that
 * taking up and laying down a record costs nothing here. Each is listed once; those in use are passed over when one is asked for.
 */
export class IdleAccounts {
  #first: Account | undefined = undefined;
  #last: Account | undefined = undefined;

  add(account: Account): void {
    if (account.listed) return;
    account.listed = true;
    if (this.#last === undefined) this.#first = account;
    else this.#last.listedAfter = account;
    this.#last = account;
  }

  /** Takes out the first that is idle; undefined when none is. O(1), amortised: each one passed over was added once. */
  take(): Account | undefined {
    for (let account = this.#first; account !== undefined; account = this.#first) {
      this.#first = account.listedAfter;
      if (this.#first === undefined) this.#last = undefined;
      account.listed = false;
      account.listedAfter = undefined;
      if (account.idle) return account;
    }
    return undefined;
  }
}
