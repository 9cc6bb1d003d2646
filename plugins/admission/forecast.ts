import { DrainRate } from "./drain_rate.ts";

/** Holds over which mean and spread are taken. */
const kept = 1024;
/** Holds before which the spread is that of exponential times. */
const few = 20;
/** Standard deviations by which a wait may turn out longer than foretold: one in a hundred does, or fewer, whatever the times are. */
const deviations = 3;
/** How much a foretold wait must exceed the time until a waiter's own deadline for it to be refused: its place in line costs little. */
const doubt = 1.25;
/** Without a line for longer than this (ms), what was measured before is forgotten: it says nothing about who comes now. */
const quiet = 1000;
/** How long (ms, at least) a wait in vain is a sign of more of them. */
const warned = 10_000;
/** Of those who had to wait lately, the share that was refused above which there are too many still. */
const overload = 0.05;
/** Newcomers over which that share is taken. */
const lately = 200;

/** How long permits were out that somebody had waited for: what makes one wait differ from the next. */
export class HoldTimes {
  #seen = 0;
  #mean = 0;
  #square = 0;
  #weight = 0;
  #weightSquare = 0;

  /** `weight` permits were out for `ms`. */
  took(ms: number, weight: number): void {
    if (this.#seen < kept) this.#seen++;
    const part = 1 / this.#seen;
    this.#mean += (ms - this.#mean) * part;
    this.#square += (ms * ms - this.#square) * part;
    this.#weight += (weight - this.#weight) * part;
    this.#weightSquare += (weight * weight - this.#weightSquare) * part;
  }

  /**
   * The variance over the mean of how many permits come back in some time: 0 when all are out equally long, 1 for
   * exponential times and as long as little is known.
   */
  get dispersion(): number {
    if (this.#seen < few || this.#mean <= 0) return 1;
    const squaredDeviation = Math.max(0, this.#square / (this.#mean * this.#mean) - 1);
    return squaredDeviation * this.#weightSquare / this.#weight;
  }
}

/**
 * How many permits are sure enough to come back in time, where `expected` would on average: whose turn comes later would likely
 * wait in vain. The wait for `n` permits at a rate of `r` is n / r, give or take √(n x dispersion) / r (the central limit theorem of
 * renewal processes: Cox, "Renewal Theory", 1962, section 3.3).
 *
 * @example
 * ```ts
 * reach(100, 0);  // 100: permits like clockwork
 * reach(100, 1);  // 74
 * reach(100, 13); // 36: a page in twenty takes a hundred times as long as the others
 * ```
 */
export function reach(expected: number, dispersion: number): number {
  const spread = deviations * Math.sqrt(dispersion);
  return ((Math.sqrt(spread * spread + 4 * expected) - spread) / 2) ** 2;
}

/**
 * Tells who would wait in vain, from the line that stands now: how fast permits come back, and how much the times vary for which
 * they are out. A refusal that was not needed costs an answer, a wait in vain only patience, so it speaks up late: never from a line
 * that is over, from what it has seen for less than half of the time it would foretell (or 2.5 s), and, of the grace window, never before
 * somebody has waited for all of it: from then on until 10 s (or two windows) after that was so last, or as long as it refuses one in twenty.
 */
export class Forecast {
  readonly #grace: number;
  readonly #ofGrace: boolean;
  #rate = new DrainRate();
  #holds = new HoldTimes();
  #emptySince = -Infinity;
  #vainAt = -Infinity;
  #refused = 0;

  /** `grace`: the window in ms; `ofGrace`: whether waits for all of it are foretold, and not deadlines only. */
  constructor(grace: number, ofGrace: boolean) {
    this.#grace = grace;
    this.#ofGrace = ofGrace && grace < Infinity;
  }

  /** Somebody has begun to wait where nobody did. */
  begins(now: number): void {
    if (now - this.#emptySince > quiet) {
      this.#rate = new DrainRate();
      this.#holds = new HoldTimes();
      this.#vainAt = -Infinity;
      this.#refused = 0;
    }
    this.#rate.resume(now);
  }

  /** Nobody waits any more. */
  ends(now: number): void {
    this.#rate.settle(now);
    this.#emptySince = now;
  }

  /** Permits came back while somebody waited. */
  returned(weight: number): void {
    this.#rate.count(weight);
  }

  /** Permits came back that somebody had waited for, after `ms`. */
  held(ms: number, weight: number): void {
    this.#holds.took(ms, weight);
  }

  /** Somebody has waited for the whole grace window in vain. */
  inVain(now: number): void {
    this.#vainAt = now;
  }

  /** Whether `ahead` permits, of a gate that has `limit`, will not have come back within `left` ms, or likely not within the grace window. */
  tooMany(ahead: number, limit: number, left: number, now: number): boolean {
    const rate = this.#rate;
    rate.settle(now);
    if (!rate.measured) return false;
    // A deadline behind the window never comes in line.
    if (left < this.#grace && rate.covers(left) && ahead / rate.perMs > left * doubt) return true;
    if (!this.#ofGrace) return false;
    const likely = this.#overloaded(now) && this.#unlikely(ahead, limit);
    this.#refused += (Number(likely) - this.#refused) / lately;
    return likely;
  }

  #overloaded(now: number): boolean {
    return this.#refused > overload || now - this.#vainAt <= Math.max(warned, 2 * this.#grace);
  }

  #unlikely(ahead: number, limit: number): boolean {
    // With fewer ahead than there are permits, the very next ones to come back decide, which are nobody's average.
    if (ahead <= limit || !this.#rate.covers(this.#grace)) return false;
    return ahead > reach(this.#grace * this.#rate.perMs, this.#holds.dispersion);
  }
}
