import type { Clock } from "../../../core/clock.ts";

/** How a pool grows and shrinks. Times are ms. */
export interface ScaleRules {
  /** Most workers. The fewest are the pool's `size`. */
  readonly max: number;
  /** The line before the pool: how many wait, and for how long the oldest has. */
  readonly line: () => { readonly queued: number; readonly waitMs: number };
  /** The pool grows when the oldest has waited longer than this, at two looks in a row; 50 when absent. */
  readonly upAfter?: number;
  /** How often the line is looked at while no worker is idle; 25 when absent. */
  readonly lookEvery?: number;
  /** The pool shrinks by the workers that were not needed for so long; 30 s when absent. */
  readonly downAfter?: number;
}

/** What is scaled. */
export interface Scaled {
  /** Workers wanted now. */
  readonly size: number;
  /** Workers that are wanted and not ready. */
  readonly missing: number;
  /** Idle workers beyond those that are always kept. */
  readonly idle: number;
  resize(size: number): void;
}

/**
 * Decides the number of workers from the time that requests wait for one. It looks only while every worker is at work, and
 * its timers exist only while they can change something.
 */
export class Scaler {
  readonly #rules: ScaleRules;
  readonly #min: number;
  readonly #pool: Scaled;
  readonly #clock: Clock;
  #stopLooking: (() => void) | undefined;
  #stopWindow: (() => void) | undefined;
  /** Looks in a row at which someone had waited too long. */
  #late = 0;
  /** Fewest idle workers since the window began. */
  #low = 0;

  constructor(rules: ScaleRules, min: number, pool: Scaled, clock: Clock) {
    this.#rules = rules;
    this.#min = min;
    this.#pool = pool;
    this.#clock = clock;
  }

  /** A worker was lent. */
  lent(): void {
    const { idle, size } = this.#pool;
    if (idle < this.#low) this.#low = Math.max(0, idle);
    if (idle <= 0 && size < this.#rules.max) {
      this.#stopLooking ??= this.#clock.setTimer(this.#rules.lookEvery ?? 25, this.#look);
    }
  }

  close(): void {
    this.#stopLooking?.();
    this.#stopWindow?.();
  }

  readonly #look = (): void => {
    this.#stopLooking = undefined;
    const { queued, waitMs } = this.#rules.line();
    const late = queued > 0 && waitMs > (this.#rules.upAfter ?? 50);
    this.#late = late ? this.#late + 1 : 0;
    if (this.#late >= 2 && this.#pool.missing === 0) this.#grow(queued);
    if (this.#pool.size < this.#rules.max && (late || this.#pool.idle <= 0)) {
      this.#stopLooking = this.#clock.setTimer(this.#rules.lookEvery ?? 25, this.#look);
    }
  };

  /** By a quarter, and by no more than wait: a short burst should not double a large pool. */
  #grow(queued: number): void {
    this.#late = 0;
    const { size } = this.#pool;
    const step = Math.min(queued, Math.ceil(size / 4));
    this.#pool.resize(Math.min(this.#rules.max, size + step));
    this.#beginWindow();
  }

  #beginWindow(): void {
    this.#low = Math.max(0, this.#pool.idle);
    this.#stopWindow?.();
    this.#stopWindow = this.#clock.setTimer(this.#rules.downAfter ?? 30_000, () => {
      this.#stopWindow = undefined;
      const { size } = this.#pool;
      if (this.#low > 0 && this.#pool.missing === 0) this.#pool.resize(Math.max(this.#min, size - this.#low));
      if (this.#pool.size > this.#min) this.#beginWindow();
    });
  }
}
