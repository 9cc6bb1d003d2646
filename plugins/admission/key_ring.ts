import type { Account } from "./account.ts";
import type { KeyLine } from "./key_line.ts";

/** Most rounds a key can owe: what it ran beyond that is forgiven. */
const mostOwed = 256;

/**
 * The round of the keys of one class: deficit round robin (Shreedhar and Varghese, SIGCOMM 1995), with the surplus variant's
 * order of pay: a key is served while its deficit is above 0 and owes what it was served beyond that, so the cost of who is
 * next need not be known. Each turn adds a quantum times the key's share. O(1) for each quantum charged.
 *
 * A key that goes idle loses what it had left, so nobody saves up turns; what it owes it keeps until others have had the
 * turns it is ahead of them, or nobody waits any more.
 */
export class KeyRing {
  /** What a turn adds to the deficit of a key with share 1. */
  quantum = 1;
  /** Whether the quantum has been set from a measurement. */
  measured = false;
  /** Lines somebody of whom may be let in. */
  able = 0;
  /** Whose turn it was last; see {@linkcode KeyRing.choose}. */
  turn: KeyLine | undefined = undefined;
  #size = 0;
  readonly #idle: (account: Account) => void;

  /** `idle` is told of a key that has left the round with nothing owed. */
  constructor(idle: (account: Account) => void) {
    this.#idle = idle;
  }

  /** Somebody of `line` may be let in from now on. */
  enable(line: KeyLine): void {
    line.able = true;
    this.able++;
    if (line.after === undefined) this.#link(line);
  }

  /** Nobody of `line` may be let in from now on: all have left, or (`capped`) their key has its share. */
  disable(line: KeyLine): void {
    line.able = false;
    this.able--;
    if (line.deficit > 0) line.deficit = 0;
    if (line.size > 0 || line.deficit === 0) this.#unlink(line);
  }

  charge(line: KeyLine, cost: number): void {
    line.deficit = Math.max(line.deficit - cost, -mostOwed * this.quantum * line.account.share);
    if (line.able) return;
    if (line.deficit > 0) line.deficit = 0;
    if (line.size > 0) return;
    if (line.deficit < 0 && line.after === undefined && this.able > 0) this.#link(line);
    else if (line.deficit === 0 && line.after !== undefined) this.#unlink(line);
  }

  /** Whose turn it is; the same until a line is charged, enabled or disabled. */
  choose(): KeyLine | undefined {
    if (this.able === 0) {
      for (let line = this.turn; line !== undefined; line = this.turn) this.#settle(line);
      return undefined;
    }
    let passed = 0;
    for (let line = this.turn!; !line.able || line.deficit <= 0; line = this.turn!) {
      if (passed++ > this.#size) {
        this.#skip();
        passed = 0;
      }
      this.#go(line.after!);
    }
    return this.turn;
  }

  /** Gives `line` its turn. */
  #go(line: KeyLine): void {
    this.turn = line;
    line.deficit += this.quantum * line.account.share;
    if (!line.able && line.deficit >= 0) this.#settle(line);
  }

  /** Rounds in which nobody could be served, all at once. */
  #skip(): void {
    let rounds = Infinity;
    let line = this.turn!;
    for (let i = 0; i < this.#size; i++, line = line.after!) {
      if (line.able) rounds = Math.min(rounds, Math.floor(-line.deficit / (this.quantum * line.account.share)));
    }
    for (let i = 0; i < this.#size; i++, line = line.after!) {
      line.deficit += rounds * this.quantum * line.account.share;
    }
  }

  #settle(line: KeyLine): void {
    line.deficit = 0;
    this.#unlink(line);
  }

  #link(line: KeyLine): void {
    const turn = this.turn;
    this.#size++;
    line.account.rounds++;
    if (turn === undefined) {
      line.after = line.before = line;
      return this.#go(line);
    }
    const last = turn.before!;
    line.before = last;
    line.after = turn;
    last.after = turn.before = line;
  }

  #unlink(line: KeyLine): void {
    const { after, before } = line as { after: KeyLine; before: KeyLine };
    line.after = line.before = undefined;
    this.#size--;
    line.account.rounds--;
    if (after === line) this.turn = undefined;
    else {
      before.after = after;
      after.before = before;
      // Not a turn yet: who waits for it has it when the round is asked whose it is.
      if (this.turn === line) this.turn = before;
    }
    this.#idle(line.account);
  }
}
