/**
 * The clock that all processes of the machine share, read from here: runtimes only tell time since their own start.
 *
 * @module
 */
import { closedLoop } from "./closed_loop.ts";
import { CLOCK } from "./pages.ts";

/** Ms. */
export type Clock = () => number;

export interface Bracket {
  /** Own clock around a request, the page's clock within it. */
  readonly sent: number;
  readonly started: number;
  readonly ended: number;
  readonly answered: number;
}

export interface Lead {
  /** How far the page's clock is ahead of ours, ms. */
  readonly ms: number;
  /** It can be wrong by this much, ms. */
  readonly within: number;
}

/**
 * A page starts after its request was sent and ends before the answer is there: each request is a bracket for the clocks'
 * distance, and all of them together the narrowest (Cristian's method).
 *
 * @throws Error when the brackets contradict each other
 */
export function lead(brackets: readonly Bracket[]): Lead {
  const most = Math.min(...brackets.map(({ sent, started }) => started - sent));
  const least = Math.max(...brackets.map(({ ended, answered }) => ended - answered));
  // The page's times are rounded to a tenth of a microsecond.
  if (!(least <= most + 0.001)) throw new Error(`The page's clock and ours do not agree: ${least} to ${most} ms ahead`);
  return { ms: (least + most) / 2, within: Math.max(0, most - least) / 2 };
}

/** Asks an idle server often enough for a bracket of some tenths of a millisecond. */
export async function machineClock(
  port: number,
  requests = 100,
): Promise<{ readonly now: Clock; readonly within: number }> {
  const { answers, wrong } = await closedLoop({
    port,
    path: CLOCK,
    clients: 1,
    warm: 0,
    warmMs: 0,
    answers: requests,
    windowMs: 0,
    now: () => performance.now(),
  });
  if (wrong.length > 0) throw new Error(`${CLOCK} answered ${wrong[0]}, expected the time`);
  const { ms, within } = lead(answers);
  return { now: () => performance.now() + ms, within };
}
