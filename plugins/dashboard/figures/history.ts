/** How much is kept (ms) for the charts. */
export const historyMs: number = 5 * 60_000;

/** What is known of one moment; nothing when the server did not answer or has just begun. */
export interface Moment<T> {
  /** Milliseconds of the viewer's own, monotonic clock. */
  readonly at: number;
  readonly frame: T | undefined;
}

/** One point of a chart: undefined where the line has a hole. */
export type Point = readonly [at: number, value: number | undefined];

/** The last minutes, oldest first. */
export class History<T> {
  readonly #span: number;
  #moments: Moment<T>[] = [];

  constructor(span: number = historyMs) {
    this.#span = span;
  }

  get moments(): readonly Moment<T>[] {
    return this.#moments;
  }

  /** The newest frame, if the last moment had one. */
  get last(): T | undefined {
    return this.#moments.at(-1)?.frame;
  }

  push(at: number, frame: T | undefined): void {
    this.#moments.push({ at, frame });
    const from = at - this.#span;
    while (this.#moments[0]!.at < from) this.#moments.shift();
  }

  series(pick: (frame: T) => number | undefined): readonly Point[] {
    return this.#moments.map(({ at, frame }) => [at, frame === undefined ? undefined : pick(frame)]);
  }

  /** Adds up what each frame says of the time since the one before. */
  total(pick: (frame: T) => number | undefined): number {
    return this.#moments.reduce((sum, { frame }) => sum + (frame === undefined ? 0 : pick(frame) ?? 0), 0);
  }
}
