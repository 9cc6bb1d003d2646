import type { Clock } from "../../core/clock.ts";

interface Timer {
  readonly at: number;
  readonly seq: number;
  readonly fire: () => void;
}

/** Time that moves when told to. Timers due at the same moment fire in the order they were set. */
export class VirtualClock implements Clock {
  time = 0;
  /** Timers set so far, and the most that were live at once. */
  timersSet = 0;
  peak = 0;
  readonly #timers = new Set<Timer>();
  #seq = 0;

  get live(): number {
    return this.#timers.size;
  }

  now(): number {
    return this.time;
  }

  setTimer(ms: number, fire: () => void): () => void {
    const timer: Timer = { at: this.time + ms, seq: this.#seq++, fire };
    this.#timers.add(timer);
    this.timersSet++;
    this.peak = Math.max(this.peak, this.#timers.size);
    return () => void this.#timers.delete(timer);
  }

  /** Moves to `until`, firing what comes due on the way. */
  advance(ms: number): void {
    const until = this.time + ms;
    for (let next = this.#next(); next !== undefined && next.at <= until; next = this.#next()) this.#fire(next);
    this.time = until;
  }

  /** Fires the next timer; false when there is none. */
  step(): boolean {
    const next = this.#next();
    if (next !== undefined) this.#fire(next);
    return next !== undefined;
  }

  #fire(timer: Timer): void {
    this.#timers.delete(timer);
    this.time = Math.max(this.time, timer.at);
    timer.fire();
  }

  #next(): Timer | undefined {
    let next: Timer | undefined;
    for (const timer of this.#timers) {
      if (next === undefined || timer.at < next.at || (timer.at === next.at && timer.seq < next.seq)) next = timer;
    }
    return next;
  }
}
