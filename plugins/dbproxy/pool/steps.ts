/** How a step ended. */
export type Outcome<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: unknown; readonly timedOut: boolean };

/** A step that goes on. */
export interface Running {
  readonly deadline: number;
  /** Nobody waits for it any more; its end is not told. */
  abandon(): void;
}

interface Live extends Running {
  expire(): void;
}

/** Asynchronous steps, each with a time by which it has ended one way or another. */
export class Steps {
  readonly #live = new Set<Live>();

  /** When the first step runs out of time; Infinity when none goes on. */
  get next(): number {
    let next = Infinity;
    for (const { deadline } of this.#live) if (deadline < next) next = deadline;
    return next;
  }

  /**
   * Starts a step. `done` is called once, never within this call, and not after `abandon`. `late` is given what an
   * abandoned or timed out step brings in the end.
   */
  run<T>(
    deadline: number,
    start: () => Promise<T>,
    done: (outcome: Outcome<T>) => void,
    late: (value: T) => void = () => {},
  ): Running {
    const end = (outcome: Outcome<T>) => {
      if (this.#live.delete(live)) done(outcome);
      else if (outcome.ok) late(outcome.value);
    };
    const live: Live = {
      deadline,
      abandon: () => void this.#live.delete(live),
      expire: () => end({ ok: false, error: undefined, timedOut: true }),
    };
    this.#live.add(live);
    begin(start).then(
      (value) => end({ ok: true, value }),
      (error: unknown) => end({ ok: false, error, timedOut: false }),
    );
    return live;
  }

  expire(now: number): void {
    for (const live of this.#live) if (live.deadline <= now) live.expire();
  }
}

/** A step that throws before it promises anything has failed all the same. */
function begin<T>(start: () => Promise<T>): Promise<T> {
  try {
    return start();
  } catch (error) {
    return Promise.reject(error);
  }
}
