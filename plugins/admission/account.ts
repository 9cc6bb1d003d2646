import { KeyLine } from "./key_line.ts";

/**
 * What a gate keeps about one key. It is the key's line in the class it came to as well, of most keys the only one: with ten thousand
 * keys each record is far from the last, and to fetch one from memory is most of what a wait costs.
 */
export class Account extends KeyLine {
  /** Permits out under its name. */
  used = 0;
  /** Its waiters, and the permits they want. */
  queued = 0;
  wanted = 0;
  /** Rounds of classes it takes part in. */
  rounds = 0;
  /** Whether it neither waits nor holds nor owes: it is kept for when the key comes back. */
  idle: boolean;
  /** Whether the caps on keys are for it: not for those who share a record, nor for waiters without a key. */
  readonly capped: boolean;
  /** How much of its class it gets compared with others. */
  share = 1;
  key: string;
  /** Its lines in other classes. */
  others: KeyLine[] | undefined = undefined;
  /** Its place among {@linkcode IdleAccounts}. */
  listed = false;
  listedAfter: Account | undefined = undefined;

  constructor(key: string, capped: boolean) {
    super(undefined, 0);
    this.key = key;
    this.capped = capped;
    this.idle = capped;
  }

  line(place: number): KeyLine {
    return this.place === place ? this : this.#other(place);
  }

  /** Forgets what its lines owe, and how long their permits are out. */
  forgive(): void {
    this.deficit = this.mean = 0;
    if (this.others !== undefined) { for (const line of this.others) line.deficit = line.mean = 0; }
  }

  #other(place: number): KeyLine {
    this.others ??= [];
    for (const line of this.others) if (line.place === place) return line;
    const line = new KeyLine(this, place);
    this.others.push(line);
    return line;
  }
}
