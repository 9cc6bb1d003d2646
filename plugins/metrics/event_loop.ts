/**
 * How late the event loop is. Deno's `monitorEventLoopDelay` reads 6 ms for a block of 50 ms, so a timer is watched
 * instead.
 *
 * @module
 */
import { type Clock, systemClock } from "../../core/clock.ts";
import type { Histogram, Meter } from "../../core/contracts/meter.ts";
import { doubling } from "./buckets.ts";

/** Seconds, from 1 ms (a timer's grain) to 8 s. */
const lagBounds = doubling(0.001, 14);

/** Observations one tick may add: past it the process was stopped, not busy. */
const MAX_MISSED = 1200;

/** Settings of a {@linkcode LoopLag}, in milliseconds. */
export interface LoopLagOptions {
  /** Time between two ticks. */
  readonly interval?: number;
  /** The maximum covers at least one and at most two windows. */
  readonly window?: number;
  readonly clock?: Clock;
}

/**
 * Keeps how late each tick came. A tick that is later than a whole interval also counts for the ticks it swallowed, so
 * that the histogram shows what an event at a random moment waits, not what the timer was able to see.
 */
export class LoopLag {
  readonly interval: number;
  readonly #window: number;
  readonly #clock: Clock;
  readonly #seconds: Histogram;
  #armed: number;
  #windowStarted: number;
  #max = 0;
  #previousMax = 0;
  #off: (() => void) | undefined;

  constructor(meter: Meter, { interval = 50, window = 30_000, clock = systemClock }: LoopLagOptions = {}) {
    this.interval = interval;
    this.#window = window;
    this.#clock = clock;
    this.#armed = clock.now();
    this.#windowStarted = this.#armed;
    this.#seconds = meter.histogram(
      "fairlead_event_loop_lag_seconds",
      "How much later than planned the event loop comes to an event, sampled by a timer",
      lagBounds,
    );
    meter.gauge(
      "fairlead_event_loop_lag_max_seconds",
      `Longest event-loop lag of the last ${window / 1000} to ${2 * window / 1000} seconds`,
      () => this.max() / 1000,
    );
  }

  /** Samples until {@linkcode LoopLag.stop}; does not keep the process alive. */
  start(): void {
    if (this.#off !== undefined) return;
    const arm = () => {
      this.#armed = this.#clock.now();
      this.#off = this.#clock.setTimer(this.interval, () => {
        this.tick();
        arm();
      });
    };
    arm();
  }

  stop(): void {
    this.#off?.();
    this.#off = undefined;
  }

  /** The timer has run: notes how late it is. */
  tick(): void {
    const now = this.#clock.now();
    const lag = Math.max(0, now - this.#armed - this.interval);
    this.#armed = now;
    this.#turn(now);
    this.#max = Math.max(this.#max, lag);
    this.#seconds.observe(lag / 1000);
    for (let missed = lag - this.interval, n = 1; missed > 0 && n < MAX_MISSED; missed -= this.interval, n++) {
      this.#seconds.observe(missed / 1000);
    }
  }

  /** The longest lag of the running window and the one before, in milliseconds. */
  max(): number {
    this.#turn(this.#clock.now());
    return Math.max(this.#max, this.#previousMax);
  }

  #turn(now: number): void {
    const passed = Math.floor((now - this.#windowStarted) / this.#window);
    if (passed < 1) return;
    this.#previousMax = passed === 1 ? this.#max : 0;
    this.#max = 0;
    this.#windowStarted += passed * this.#window;
  }
}
