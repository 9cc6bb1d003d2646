/**
 * What is measured: one way through a limit, used as its own documentation says.
 *
 * @module
 */

export interface Arm {
  /** Takes a free permit and gives it back, `times` over. */
  alone(times: number): Promise<void> | void;
  /** Waits for a permit, calls `task`, gives the permit back. Absent: it has no line. */
  submit?(task: () => void): void;
  /** Lets the line move, for arms that hold it back while it is filled. */
  begin?(): void;
  /** One client of a closed loop: waits for a permit, waits for `hold`, gives it back, until told otherwise. */
  client?(hold: () => Promise<void>, running: () => boolean): Promise<void>;
  /** Gets `count` waiters in line, and returns what takes the one of a given place out of it again. Absent: it cannot. */
  line?(count: number): readonly (() => void)[];
}

/** Makes an arm with `limit` permits. */
export type MakeArm = (limit: number) => Arm;
